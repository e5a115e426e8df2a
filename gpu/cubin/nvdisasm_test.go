package cubin

import (
	"os"
	"strings"
	"testing"
)

const cubins = "../cubin/testdata/"

// TestDisassembly: the offsets of a function that lies in a kernel's section begin at its own start.
func TestDisassembly(t *testing.T) {
	text, err := os.ReadFile("testdata/two.sm90.second.nvdisasm")
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(cubins + "two.sm90.cubin")
	if err != nil {
		t.Fatal(err)
	}
	module, err := Read(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"second", "$second$_Z4slowfi"} {
		f := module.Function(name)
		code := parseListing(text, name, f.Size)
		if len(code.Text) == 0 {
			t.Fatalf("%s: no instructions", name)
		}
		for offset, text := range code.Text {
			operation := Operation(f.Code[offset:])
			if _, bare, found := strings.Cut(text, " "); strings.HasPrefix(text, "@") && found {
				text = bare
			}
			if !strings.HasPrefix(text, operation) {
				t.Errorf("%s+%#x is %q, and its code says %s", name, offset, text, operation)
			}
		}
	}
}

func FuzzDisassembly(f *testing.F) {
	text, err := os.ReadFile("testdata/two.sm90.second.nvdisasm")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text[:4096], "second", uint64(512))
	f.Add([]byte("second:\n /*ffffffffffffffff*/ NOP ;\n/*10*/ X"), "second", uint64(1<<63))
	f.Fuzz(func(t *testing.T, text []byte, function string, size uint64) {
		for offset, text := range parseListing(text, function, size).Text {
			if offset >= size || strings.Contains(text, "\n") {
				t.Errorf("%#x of %#x: %q", offset, size, text)
			}
		}
	})
}

func TestFunctionsOfAListing(t *testing.T) {
	listing := "\t.headerflags\t@\"x\"\n\t.section .text.one,\"ax\"\n\t.global one\n\t.type one\n.text.one:\n  a;  \n  b;\n\t.headerflags\t@\"x\"\n" +
		"\t.global two\n.text.two:\n  c;\n"
	want := "Function:one\n  a;\n  b;\n\nFunction:two\n  c;\n\n"
	if got := functionsOf(listing); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
