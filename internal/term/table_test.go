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
	table.Texts([]string{"a sentence across the columns"})
	table.Texts([]string{"行列", "1", ""}) // two columns each
	want := "KERNEL          N\nmatmul\\tkernel  12\ngröße\\x1b[2J    3   last\na sentence across the columns\n行列            1\n"
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
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

// A table that is wider than the terminal keeps every cell: its last column is broken, or each row has lines of its own.
func TestTableOfANarrowTerminal(t *testing.T) {
	for width, want := range map[int]string{
		0:  "KERNEL  KIND  ARGUMENTS\nk       a     x=1 y=2 z=3 longer=4 andmore=5\n",
		80: "KERNEL  KIND  ARGUMENTS\nk       a     x=1 y=2 z=3 longer=4 andmore=5\n",
		40: "KERNEL  KIND  ARGUMENTS\nk       a     x=1 y=2 z=3 longer=4\n              andmore=5\n",
		30: "k\n  kind       a\n  arguments  x=1 y=2 z=3\n             longer=4\n             andmore=5\n",
	} {
		var b strings.Builder
		table := NewTable(&b, "KERNEL", "KIND", "ARGUMENTS")
		table.rows.terminal = width
		table.Row("k", "a", "x=1 y=2 z=3 longer=4 andmore=5")
		if err := table.Flush(); err != nil || b.String() != want {
			t.Errorf("%d columns: %v, got\n%s\nwant\n%s", width, err, b.String(), want)
		}
	}
}
