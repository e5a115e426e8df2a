package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

var shownRun = regexp.MustCompile("(?s)```console\n\\$ proton (viewer [^\n]*)\n(.*?)```")

// TestViewerPageShowsWhatViewerPrints runs the commands of docs/viewer.md on profiles in viewer/testdata/recorded;
// "make docs" rewrites what they print.
func TestViewerPageShowsWhatViewerPrints(t *testing.T) {
	const path = "../../docs/viewer.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, count := string(text), 0
	want := shownRun.ReplaceAllStringFunc(page, func(block string) string {
		count++
		command := shownRun.FindStringSubmatch(block)[1]
		return "```console\n$ proton " + command + "\n" + runShown(t, command) + "```"
	})
	if count == 0 {
		t.Fatalf("%s shows no output of proton viewer", path)
	}
	testkit.Golden(t, path, want)
}

// runShown runs a command line as it stands in the page. Words in quotes have no blanks there.
func runShown(t *testing.T, command string) string {
	t.Helper()
	args := strings.Fields(strings.ReplaceAll(command, "'", ""))
	for i, arg := range args {
		if file := filepath.Join("../../viewer/testdata/recorded", arg); exists(file) {
			args[i] = file
		}
	}
	var stdout, stderr bytes.Buffer
	root := newRoot()
	root.SetArgs(spellOutDiff(args))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	if err := root.Execute(); err != nil {
		t.Fatalf("proton %s: %v\n%s", command, err, stderr.String())
	}
	return stdout.String()
}
