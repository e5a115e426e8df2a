package backend

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestInOrderAsFileCheck compares our check of words in their order with FileCheck's answer.
func TestInOrderAsFileCheck(t *testing.T) {
	fileCheck := testkit.Fetched(t, "oracles/triton-3.9.0/triton/FileCheck")
	text := "module {\n  a.b  c\n  tt.load %1\n  tt.dot %2\n  tt.load %3 {x = 1}\n  end\n}\n"
	for _, patterns := range []string{
		"CHECK: tt.load", "CHECK: tt.dot\nCHECK: tt.load\nCHECK: end", "CHECK: tt.dot\nCHECK: tt.dot", "CHECK: a.b c", "CHECK: a.b \t c", "CHECK: aXb",
		"CHECK-NOT: tt.dot\nCHECK: tt.load", "CHECK-NOT: tt.load\nCHECK: tt.dot", "CHECK: tt.dot\nCHECK-NOT: tt.store", "CHECK: tt.dot\nCHECK-NOT: tt.load\nCHECK: end",
		"CHECK: tt.dot\nCHECK-NOT: tt.store\nCHECK-NOT: end", "CHECK: tt.load\nCHECK-NOT: module\nCHECK: end", "CHECK: end\nCHECK: module", "CHECK: tt.load %1\nCHECK: load",
	} {
		lines := (&Procedure{Patterns: patterns}).Directives()
		plain, got, why := inOrder(lines, text)
		want, said := RunFileCheck(fileCheck, "; "+strings.Join(lines, "\n; "), text)
		if !plain || got != want {
			t.Errorf("%q: got %v (%s), FileCheck says %v (%s)", patterns, got, why, want, said)
		}
	}
}

// TestOnlyFileCheckCan: other directives are left to FileCheck.
func TestOnlyFileCheckCan(t *testing.T) {
	for _, patterns := range []string{"CHECK-DAG: x", "CHECK: [[X:a]]", "CHECK-LABEL: x", "CHECK: {{x}}", "CHECK:", "CHECK: x\nCHECK-NEXT: y", "CHECK-COUNT-2: x", "nothing"} {
		p := Procedure{Name: "p", Patterns: patterns}
		if plain, _, _ := inOrder(p.Directives(), "x\ny\n"); plain {
			t.Errorf("%q is checked without FileCheck", patterns)
		}
		if r := p.check("x\ny\n", &Settings{}); r.detected || !strings.Contains(r.err, "FILECHECK_PATH") {
			t.Errorf("%q: %v %q", patterns, r.detected, r.err)
		}
	}
	schedules, err := ReadProcedures("")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range schedules {
		if plain, holds, why := inOrder(p.Directives(), "module {}"); !plain || holds || why == "" {
			t.Errorf("%s: %v %v %q", p.Name, plain, holds, why)
		}
	}
}
