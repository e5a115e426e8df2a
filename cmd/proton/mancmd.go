package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/version"
)

// newManCommand is hidden: it is for scripts that build packages, and --help says the same as a page.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "write the manual page of each command to FOLDER",
		Hidden: true,
		Args:   exactly("a folder for the pages"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return fmt.Errorf("write manual pages: %w; give a folder that can be written", err)
			}
			return writeManPages(cmd.Root(), args[0])
		},
	}
}

// writeManPages writes the page of a command and those of its subcommands.
func writeManPages(cmd *cobra.Command, folder string) error {
	path := filepath.Join(folder, manName(cmd)+".1")
	err := ownfile.Replace(path, func(w io.Writer) error {
		_, err := io.WriteString(w, manPage(cmd))
		return err
	})
	if err != nil {
		return fmt.Errorf("write manual page %s: %w", path, err)
	}
	for _, sub := range listed(cmd) {
		if err := writeManPages(sub, folder); err != nil {
			return err
		}
	}
	return nil
}

// listed are the subcommands that have pages.
func listed(cmd *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			list = append(list, sub)
		}
	}
	return list
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manWidth leaves room for the indentation of a page on a terminal of 80 columns.
const manWidth = 72

// manPage is the help of a command in the language of man. Texts keep their lines, because tables and examples are among them.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(term.Fit(text, manWidth)))
		}
	}
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"GoProton\"\n", strings.ToUpper(manName(cmd)), "proton "+version.Number)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	section("SYNOPSIS", cmd.UseLine())
	section("DESCRIPTION", cmd.Long)
	section("EXAMPLES", cmd.Example)
	section("OPTIONS", flagSections(cmd.LocalFlags()))
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent())+"(1)")
	}
	for _, sub := range listed(cmd) {
		also = append(also, manName(sub)+"(1)")
	}
	section("SEE ALSO", strings.Join(also, ", "))
	return b.String()
}

// roff escapes text: a line must not begin with a request, and a hyphen in a flag is a minus sign.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
