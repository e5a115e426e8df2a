package term

import (
	"errors"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	table := NewTable(&b, "KERNEL", "N", "")
	table.Row("matmul\tkernel", 12, "")
	table.Texts([]string{"größe\x1b[2J", "3", "last"})
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "KERNEL          N   \nmatmul\\tkernel  12  \ngröße\\x1b[2J    3   last\n"
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
	full := errors.New("full")
	table = NewTable(fullDisk{full}, "KERNEL")
	if err := table.Flush(); err != full {
		t.Errorf("Flush returns %v, want the writer's error", err)
	}
}

type fullDisk struct{ err error }

func (d fullDisk) Write([]byte) (int, error) { return 0, d.err }
