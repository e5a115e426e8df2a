package peaks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// TestDocumentedPeaks compares the tables in docs/viewer.md with what the formulas say.
func TestDocumentedPeaks(t *testing.T) {
	const path = "../../docs/viewer.md"
	for name, table := range map[string]string{"peaks": peakTable(t), "types": typeTable(t), "peaks of AMD": amdTable()} {
		testkit.Between(t, path, "<!-- "+name+": written by go test ./gpu/peaks -update -->\n", "<!-- end of "+name+" -->", table)
	}
}

// amdTable has the parts of AMD by type of operands; a type without a peak is a dash.
func amdTable() string {
	types := []string{"fp4", "fp6", "fp8", "int8", "fp16", "bf16", "xf32", "fp32", "fp32-vector", "fp64", "fp64-vector"}
	var b strings.Builder
	fmt.Fprintf(&b, "| part | architecture | %s | TB/s |\n|---|---%s|---|\n", strings.Join(types, " | "), strings.Repeat("|---", len(types)))
	for _, board := range amdBoards {
		arch, _, _ := strings.Cut(board.d.Arch, ":")
		fmt.Fprintf(&b, "| %s | %s |", board.name, arch)
		for _, dtype := range types {
			if peak, err := Peak(board.d, dtype); err == nil {
				fmt.Fprintf(&b, " %.4g |", peak/1e12)
			} else {
				b.WriteString(" - |")
			}
		}
		bandwidth, _ := Bandwidth(board.d)
		fmt.Fprintf(&b, " %.3g |\n", bandwidth/1e12)
	}
	return b.String()
}

// typeTable has the types whose peaks do not follow from the width.
func typeTable(t *testing.T) string {
	types := []string{"fp4", "int8", "tf32", "fp32", "fp64", "fp64-vector"}
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
		fmt.Fprintf(&b, "| %s | sm_%s |", board.name, board.d.Arch)
		for _, w := range profile.OperandWidths {
			peak, err := Peak(board.d, profile.OperandOfWidth(w))
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
