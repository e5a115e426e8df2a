package quirks

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestEachQuirkHasAnExplanation: a bit without a row in Table would change the output in silence.
func TestEachQuirkHasAnExplanation(t *testing.T) {
	var explained Set
	for _, s := range Table {
		for _, d := range s.Differences {
			explained |= d.Quirk
			if d.Subject == "" || d.Theirs == "" || d.Ours == "" || d.Quirk == None {
				t.Errorf("an empty cell in %+v", d)
			}
		}
	}
	if missing := TritonParse &^ explained; missing != None {
		t.Errorf("bits %b of %d have no row in Table", missing, bits.OnesCount32(uint32(TritonParse)))
	}
	if explained&^TritonParse != None {
		t.Errorf("rows for bits %b, which are not quirks", explained&^TritonParse)
	}
}

// TestDocumentation compares the tables in docs/tritonparse.md with Table. go test -update writes them.
func TestDocumentation(t *testing.T) {
	const path = "../../../docs/tritonparse.md"
	for _, s := range Table {
		testkit.Between(t, path, fmt.Sprintf("<!-- quirks: %s -->\n", s.Name), "<!-- end -->\n", markdown(s))
	}
}

func markdown(s Section) string {
	var b strings.Builder
	b.WriteString("| | tritonparse, and `--compat tritonparse` | here |\n|---|---|---|\n")
	for _, d := range s.Differences {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", d.Subject, d.Theirs, d.Ours)
	}
	return b.String()
}
