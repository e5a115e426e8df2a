package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneWayOut: what commands print goes through term.Output, so that names from files cannot be control sequences. Code that
// names the process's own standard output or error would go around it.
func TestOneWayOut(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	allowed := map[string]string{
		"main.go":         "puts the Output in front",
		"output.go":       "puts the Output in front, for code that gets no writer",
		"flagsections.go": "asks for the terminal's width",
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"os.Stdout", "os.Stderr", "fmt.Print(", "fmt.Printf(", "fmt.Println("} {
			if strings.Contains(string(text), name) && allowed[file] == "" && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s has %s: print to cmd.OutOrStdout(), cmd.ErrOrStderr() or toUser(), which spell control characters out", file, name)
			}
		}
	}
}
