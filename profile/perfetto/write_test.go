package perfetto

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func contents(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// dump prints a tree for comparisons.
func dump(root *profile.Node) string {
	var b strings.Builder
	root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), n.Name)
		for _, m := range n.Metrics {
			f, _ := m.Value.Float()
			fmt.Fprintf(&b, " %s=%v%s%v%v", m.Name, f, m.Value.Str(), m.Value.Ints(), m.Value.Floats())
		}
		b.WriteByte('\n')
		return true
	})
	return b.String()
}

func TestSumsAreRefused(t *testing.T) {
	if err := Write(io.Discard, &profile.Profile{Root: &profile.Node{}}); !errors.Is(err, ErrNoTimeline) {
		t.Errorf("a profile of sums was written: %v", err)
	}
}
