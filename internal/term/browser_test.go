package term

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// The user's own browser is asked first, with its arguments; without one and without a screen no page is opened.
func TestBrowse(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, []byte("#!/bin/sh\necho \"$@\" > "+dir+"/opened\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	if Browse("page.html", nil) || CanBrowse([]string{"BROWSER=" + dir + "/none"}) {
		t.Error("there is no screen, and no browser")
	}
	if !Browse("page.html", []string{"BROWSER=" + dir + "/none:" + mine + " --new-tab"}) {
		t.Fatal("the browser was not started")
	}
	testkit.Await(t, "the page is opened", func() bool {
		text, _ := os.ReadFile(dir + "/opened")
		return strings.TrimSpace(string(text)) == "--new-tab page.html"
	})
}
