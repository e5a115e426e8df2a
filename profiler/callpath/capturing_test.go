package callpath

import (
	"strings"
	"testing"
)

func TestMetricsOfScopesDuringACapture(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"the next node takes them", `
scoped 9 100 21 captured
scoped 8 50 22 captured
launch 1 23 0
created 3 30 23 0 captured
launch 2 23 0
created 3 31 23 0 captured
graph-launch 5 50
kernel 5 3 30
kernel 5 3 31`, `
kernel of 5: at 50 by a graph captured at 23 9=100 of 21 8=50 of 22
kernel of 5: at 50 by a graph captured at 23`},
		{"another thread's capture does not keep them", `
scoped 9 100 21 elsewhere
launch 1 23 0
launch 2 23 0
scoped 9 7 21 elsewhere
flush`, `
metric 9=100 at 21 after launch 1
metric 9=7 at 21 after launch 2`},
		{"those after the last node go to it", `
launch 1 23 0
created 3 30 23 0 captured
scoped 9 100 21 captured
graph-launch 5 50
kernel 5 3 30`, `
kernel of 5: at 50 by a graph captured at 23 9=100 of 21`},
		{"also if a launch follows that is not captured", `
launch 1 23 0
created 3 30 23 0 captured
scoped 9 100 21 captured
launch 2 50 0
launch 3 50 0
graph-launch 6 50
kernel 6 3 30`, `
kernel of 6: at 50 by a graph captured at 23 9=100 of 21`},
		{"a capture without nodes has none", `
scoped 9 100 21 captured
flush`, `
metric 9=100 at 21 after launch 0`},
		{"a node added by hand takes none", `
scoped 9 100 21 elsewhere
created 3 30 23 0 by-hand
launch 1 23 0
flush`, `
metric 9=100 at 21 after launch 1`},
		{"a node reads a tensor, and takes what came before", `
scoped 9 100 21 captured
tensor 4 77 22 0
launch 1 24 0
launch 2 24 0
reads 3 30 24 77
cloned 8 40 30
graph-gone 3
graph-launch 5 50
kernel 5 8 40`, `
expect values of 77
kernel of 5: at 50 by a graph captured at 24 9=100 of 21 reads 77: 4 of 22, 1 elements`},
		{"a tensor whose node was refused is not another node's", `
tensor 4 77 22 3
launch 1 24 0
tensor 4 78 22 3
launch 2 24 0
reads 3 30 24 78
launch 3 24 0
created 3 31 24 0 captured
graph-launch 5 50
kernel 5 3 30
kernel 5 3 31`, `
expect values of 77
expect values of 78
kernel of 5: at 50 by a graph captured at 24 reads 78: 4 of 22, 3 elements
kernel of 5: at 50 by a graph captured at 24`},
	} {
		if got, want := script(t, c.script), strings.TrimPrefix(c.want, "\n")+"\n"; got != want {
			t.Errorf("%s:\n--- got\n%s--- want\n%s", c.name, got, want)
		}
	}
}
