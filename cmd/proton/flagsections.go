package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// headingKey is the annotation of a flag that begins a section of the help text.
const headingKey = "proton_heading"

// heading begins a section of the help text at a flag. The section has this flag and all later ones up to the next heading.
func heading(flags *pflag.FlagSet, flag, title string) {
	if err := flags.SetAnnotation(flag, headingKey, []string{title}); err != nil {
		panic("BUG: " + err.Error())
	}
}

// flagSections prints flags below their headings. Flags before the first heading, and --help, are listed below "Flags".
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
	flags.VisitAll(func(f *pflag.Flag) {
		switch title := f.Annotations[headingKey]; {
		case f.Name == "help":
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
	}
	return strings.TrimRight(b.String(), "\n")
}

// useFlagSections makes the help of a command and of its subcommands list flags below their headings.
func useFlagSections(root *cobra.Command) {
	cobra.AddTemplateFunc("flagSections", flagSections)
	const plain = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	template := root.UsageTemplate()
	if !strings.Contains(template, plain) {
		panic("BUG: cobra's usage template has changed")
	}
	root.SetUsageTemplate(strings.Replace(template, plain, "{{flagSections .LocalFlags}}", 1))
}
