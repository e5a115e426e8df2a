package specs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of peaks in docs/viewer.md")

// TestDocumentedPeaks compares the table in docs/viewer.md with what the formulas say.
func TestDocumentedPeaks(t *testing.T) {
	const path = "../../docs/viewer.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "-update -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end of peaks -->")
	if !ok || !ok2 {
		t.Fatalf("%s has no marks around the table of peaks", path)
	}
	want := before + "-update -->\n" + peakTable(t) + "<!-- end of peaks -->" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Errorf("%s does not say what the formulas say: run go test ./viewer/specs -update\nwant:\n%s", path, peakTable(t))
	}
}

func peakTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| board | architecture | 8 bit | 16 bit | 32 bit | 64 bit | TB/s |\n|---|---|---|---|---|---|---|\n")
	for _, board := range boards {
		arch, _, _ := strings.Cut(board.d.Arch, ":")
		if board.d.Type == cuda {
			arch = "sm_" + arch
		}
		fmt.Fprintf(&b, "| %s | %s |", board.name, arch)
		for _, w := range Widths {
			peak, err := Flops(board.d, w)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, " %.4g |", peak/1e12)
		}
		bandwidth, err := Bandwidth(board.d)
		if err != nil {
			b.WriteString(" from the file |\n")
			continue
		}
		fmt.Fprintf(&b, " %.3g |\n", bandwidth/1e12)
	}
	return b.String()
}
