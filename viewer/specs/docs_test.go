package specs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestDocumentedPeaks compares the tables in docs/viewer.md with what the formulas say.
func TestDocumentedPeaks(t *testing.T) {
	const path = "../../docs/viewer.md"
	for name, table := range map[string]string{"peaks": peakTable(t), "types": typeTable(t)} {
		testkit.Between(t, path, "<!-- "+name+": written by go test ./viewer/specs -update -->\n", "<!-- end of "+name+" -->", table)
	}
}

// typeTable has the types whose peaks do not follow from the width.
func typeTable(t *testing.T) string {
	types := []string{"fp4", "tf32", "fp32", "fp64", "fp64-vector"}
	var b strings.Builder
	fmt.Fprintf(&b, "| board | %s |\n|---%s|\n", strings.Join(types, " | "), strings.Repeat("|---", len(types)))
	for _, board := range boards {
		fmt.Fprintf(&b, "| %s |", board.name)
		for _, dtype := range types {
			peak, err := Peak(board.d, dtype)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, " %.4g |", peak/1e12)
		}
		b.WriteByte('\n')
	}
	return b.String()
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
