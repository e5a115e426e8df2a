package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/testkit"
)

// TestPages compares docs/cli with the commands; "make docs" rewrites the pages.
func TestPages(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "cli")
	root := newRoot()
	want := map[string]string{}
	addPages(want, root)
	if testkit.Update() {
		writePages(t, folder, want)
	}
	for name, text := range want {
		have, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Errorf("%v: run make docs", err)
		} else if string(have) != text {
			t.Errorf("docs/cli/%s does not say what the command says: run make docs\n%s", name, firstDifference(string(have), text))
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if want[entry.Name()] == "" {
			t.Errorf("docs/cli/%s belongs to no command: remove it", entry.Name())
		}
	}
}

// addPages adds the page of a command and those of its subcommands.
func addPages(pages map[string]string, cmd *cobra.Command) {
	pages[pageName(cmd)] = page(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			addPages(pages, sub)
		}
	}
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}

func writePages(t *testing.T, folder string, pages map[string]string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// page writes a command as Markdown: what it is for, how it is called, its flags, its subcommands.
func page(cmd *cobra.Command) string {
	var b strings.Builder
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", cmd.CommandPath(), cmd.Short)
	fmt.Fprintf(&b, "```\n%s\n```\n\n```\n%s\n```\n", cmd.UseLine(), strings.TrimSpace(long))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```\n%s\n```\n", strings.Trim(cmd.Example, "\n"))
	}
	if usages := flagSections(cmd.LocalFlags(), 0); usages != "" {
		fmt.Fprintf(&b, "\n## Flags\n\n```\n%s\n```\n", usages)
	}
	var list []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			list = append(list, fmt.Sprintf("- [%s](%s): %s", sub.CommandPath(), pageName(sub), sub.Short))
		}
	}
	if len(list) > 0 {
		fmt.Fprintf(&b, "\n## Commands\n\n%s\n", strings.Join(list, "\n"))
	}
	return b.String()
}

func firstDifference(have, want string) string {
	h, w := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := 0; i < len(h) || i < len(w); i++ {
		switch {
		case i >= len(h):
			return fmt.Sprintf("line %d: missing: %s", i+1, w[i])
		case i >= len(w):
			return fmt.Sprintf("line %d: too much: %s", i+1, h[i])
		case h[i] != w[i]:
			return fmt.Sprintf("line %d:\nhave %s\nwant %s", i+1, h[i], w[i])
		}
	}
	return ""
}
