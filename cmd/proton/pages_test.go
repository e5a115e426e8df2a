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
	for name, text := range want {
		testkit.Golden(t, filepath.Join(folder, name), text)
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
	for _, sub := range listed(cmd) {
		addPages(pages, sub)
	}
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
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
	if usages := flagSections(cmd.LocalFlags()); usages != "" {
		fmt.Fprintf(&b, "\n## Flags\n\n```\n%s\n```\n", usages)
	}
	var list []string
	for _, sub := range listed(cmd) {
		list = append(list, fmt.Sprintf("- [%s](%s): %s", sub.CommandPath(), pageName(sub), sub.Short))
	}
	if len(list) > 0 {
		fmt.Fprintf(&b, "\n## Commands\n\n%s\n", strings.Join(list, "\n"))
	}
	return b.String()
}
