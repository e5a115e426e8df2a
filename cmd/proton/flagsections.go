package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of flags.
const (
	headingKey = "proton_heading" // the title of the section of the help text that begins at the flag
	optionKey  = "proton_option"  // the flag that has this one as an option of its value
	olderKey   = "proton_older"   // what to write instead of the flag, which goes on working
	formerKey  = "proton_former"  // the older name of the flag, which goes on working
)

// flagsOf are the flags of a command, which its help lists in the order in which they are added.
func flagsOf(cmd *cobra.Command) *pflag.FlagSet {
	cmd.Flags().SortFlags = false
	return cmd.Flags()
}

func annotate(flags *pflag.FlagSet, flag, key string, values ...string) {
	if err := flags.SetAnnotation(flag, key, values); err != nil {
		panic("BUG: " + err.Error())
	}
}

// heading begins a section of the help text at a flag. The section has this flag and all later ones up to the next heading.
func heading(flags *pflag.FlagSet, flag, title string) { annotate(flags, flag, headingKey, title) }

// older hides a flag that another spelling has replaced.
func older(flags *pflag.FlagSet, flag, instead string) {
	annotate(flags, flag, olderKey, instead)
	flags.Lookup(flag).Hidden = true
}

// renamed lets older names of flags go on working: they set the flags that have other names now.
func renamed(flags *pflag.FlagSet, names map[string]string) {
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, old := names[name]; old {
			name = now
		}
		return pflag.NormalizedName(name)
	})
	for old, now := range names {
		if !strings.Contains(now, "-") {
			annotate(flags, now, formerKey, old)
		}
	}
}

// flagSections prints flags below their headings, with the options of their values. Flags before the first heading, and those for help, are
// listed below "Flags", and older spellings at the end.
func flagSections(flags *pflag.FlagSet) string {
	type section struct {
		title string
		flags *pflag.FlagSet
	}
	newSection := func(title string) *section {
		s := &section{title, pflag.NewFlagSet("", pflag.ContinueOnError)}
		s.flags.SortFlags = false
		return s
	}
	first := newSection("Flags")
	sections, current := []*section{first}, first
	var replaced [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if instead := f.Annotations[olderKey]; instead != nil {
			replaced = append(replaced, [2]string{"--" + f.Name, instead[0]})
		}
		if former := f.Annotations[formerKey]; former != nil {
			replaced = append(replaced, [2]string{"--" + former[0], "--" + f.Name})
		}
		switch title := f.Annotations[headingKey]; {
		case f.Name == "help" || f.Name == helpAll:
			first.flags.AddFlag(f)
			return
		case title != nil:
			current = newSection(title[0])
			sections = append(sections, current)
		}
		current.flags.AddFlag(f)
	})
	var b strings.Builder
	for _, s := range sections {
		if usages := s.flags.FlagUsages(); usages != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", s.title, usages)
		}
		s.flags.VisitAll(func(f *pflag.Flag) {
			if rows := optionRows(flags, f); rows != nil {
				fmt.Fprintf(&b, "Options of --%s, behind its value (as flags, --%s-… go on working):\n%s\n", f.Name, f.Name, aligned(rows, 6))
			}
		})
	}
	if replaced != nil {
		fmt.Fprintf(&b, "Older spellings, which go on working:\n%s\n", aligned(replaced, 6))
	}
	return strings.TrimRight(b.String(), "\n")
}

// optionRows are the options of the value of a flag, with what they do.
func optionRows(flags *pflag.FlagSet, of *pflag.Flag) (rows [][2]string) {
	for _, f := range optionsOf(flags, of.Name) {
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimPrefix(f.Name, of.Name)
		if name = ":" + name[1:]; f.NoOptDefVal == "" {
			name += "=" + kind
		}
		if !slices.Contains([]string{"", "0", "[]", "false"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		rows = append(rows, [2]string{name, usage})
	}
	return rows
}

// aligned puts rows in two columns, as pflag has them.
func aligned(rows [][2]string, indent int) string {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%*s%-*s   %s\n", indent, "", width, row[0], row[1])
	}
	return b.String()
}

// useFlagSections makes the help of a command and of its subcommands list flags below their headings.
func useFlagSections(root *cobra.Command) {
	cobra.AddTemplateFunc("flagSections", flagSections)
	const plain = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	const global = "{{if .HasAvailableInheritedFlags}}" // --help of the program shows these
	template := root.UsageTemplate()
	if !strings.Contains(template, plain) || !strings.Contains(template, global) {
		panic("BUG: cobra's usage template has changed")
	}
	root.SetUsageTemplate(strings.NewReplacer(plain, "{{flagSections .LocalFlags}}", global, "{{if false}}").Replace(template))
}
