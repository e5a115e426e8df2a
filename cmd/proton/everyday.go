package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAll is the flag that shows what --help leaves out.
const helpAll = "help-all"

// everyday is a flag that --help of a command with many flags shows, in a few words and with an example.
type everyday struct{ flag, about, example string }

// everydayKey is the annotation of such a flag.
const everydayKey = "proton_everyday"

// showEveryday makes --help of a command show only these flags.
func showEveryday(cmd *cobra.Command, rows ...everyday) {
	cmd.Annotations = map[string]string{everydayKey: ""}
	for _, row := range rows {
		annotate(cmd.Flags(), row.flag, everydayKey, row.about, row.example)
	}
}

// isBrief says whether --help of a command shows its everyday flags alone.
func isBrief(cmd *cobra.Command) bool {
	_, brief := cmd.Annotations[everydayKey]
	return brief
}

// briefHelp is a screen about a command with many flags.
func briefHelp(cmd *cobra.Command) string {
	var rows [][2]string
	var groups []string
	shown, all := 0, 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if title := f.Annotations[headingKey]; title != nil {
			groups = append(groups, title[0])
		}
		if !f.Hidden && f.Name != "help" && f.Name != helpAll {
			all++
		}
		texts := f.Annotations[everydayKey]
		if texts == nil {
			return
		}
		shown++
		rows = append(rows, [2]string{spelling(f), texts[0]}, [2]string{"", texts[1]})
	})
	about, _, _ := strings.Cut(cmd.Long, "\n\n")
	in := ""
	if groups != nil {
		in = " of these tasks: " + strings.Join(groups, ", ") + ";"
	}
	return fmt.Sprintf("%s\n\nUsage:\n  %s\n\nThe flags that are used most, each with an example:\n%s\n%s --help-all shows %d more flags%s and all that the command does.\n",
		about, cmd.UseLine(), aligned(rows, 2), cmd.CommandPath(), all-shown, in)
}

// spelling is a flag with its short form and the name of its value.
func spelling(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	if kind, _ := pflag.UnquoteUsage(f); kind != "" {
		text += " " + kind
	}
	return text
}

// addHelpAll gives a command and its subcommands the flag that asks for the whole help. It sets --help too, which ends the reading of the
// command line.
func addHelpAll(cmd *cobra.Command) {
	cmd.Flags().BoolFunc(helpAll, "all flags, by task, and the whole description", func(text string) error { return cmd.Flags().Set("help", text) })
	cmd.Flags().Lookup(helpAll).Hidden = !isBrief(cmd)
	for _, sub := range cmd.Commands() {
		addHelpAll(sub)
	}
}
