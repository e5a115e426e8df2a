package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/interpret"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/interpreter/compare"
	"github.com/goproton/goproton/interpreter/run"
)

const interpretDiffLong = `diff runs a saved launch with two texts of its kernel, one program instance after another, and names the first line
and variable that differ: of two versions of Triton, of a kernel before and after a change, or of the front end's text and that after Triton's
passes. Variables are found by their names and lines in the source; what only one of the texts has is listed.

Exit codes:
    0  nothing differs
    1  something does
    2  a text or the launch cannot be read or run`

func newInterpretDiffCommand() *cobra.Command {
	var o compare.Options
	var launch string
	var programs []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff [flags] A.ttir B.ttir",
		Short: "the first variable in which two texts of a kernel differ",
		Long:  interpretDiffLong,
		Args:  between(2, 2, "give two texts of a kernel, and not %d: proton interpret diff --launch FOLDER A.ttir B.ttir"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Programs, err = parsePrograms(programs); err == nil && launch == "" {
				err = errors.New("give the saved launch that both texts run: --launch FOLDER, which proton interpret --save writes")
			}
			var c *compare.Compared
			if err == nil {
				c, err = run.Diff(launch, args[0], args[1], o)
			}
			if err != nil {
				return usage(err)
			}
			if err := printDiff(cmd.OutOrStdout(), c, asJSON); err != nil {
				return err
			}
			if c.First != nil {
				return &exitError{code: interpret.ExitFindings}
			}
			return nil
		},
	}
	flags := flagsOf(cmd)
	flags.StringVar(&launch, "launch", "", "the launch in `FOLDER`, which proton interpret --save has written, or its launch.json")
	flags.StringArrayVar(&programs, "programs", nil, "compare only the program instance `X,Y,Z`; may be repeated")
	flags.Float64Var(&o.Relative, "relative", 0, "numbers may differ by `X` times the second one")
	flags.Float64Var(&o.Absolute, "absolute", 0, "numbers may differ by `X`")
	flags.BoolVar(&asJSON, "json", false, "print the difference as JSON")
	return cmd
}

func printDiff(w io.Writer, c *compare.Compared, asJSON bool) error {
	if asJSON {
		return printJSON(w, c)
	}
	var b strings.Builder
	switch d := c.First; {
	case d == nil:
		fmt.Fprintf(&b, "no difference in %d values of %d program instances\n", c.Values, c.Programs)
	case d.Finding != "":
		fmt.Fprintf(&b, "program %v: %s\n", d.Program, d.Finding)
	default:
		fmt.Fprintf(&b, "%s differs first, the %s value there, in program (%d, %d, %d): %d of %d elements, by up to %.3g of the largest number\n",
			d.Variable, ordinal(d.Times), d.Program[0], d.Program[1], d.Program[2], d.Count, d.Of, d.Off)
		fmt.Fprintf(&b, "  a: element %d is %s at %s\n  b: element %d is %s at %s\n", d.Element, d.A.Value, at(d.A), d.Element, d.B.Value, at(d.B))
	}
	for i, list := range [][]string{c.OnlyA, c.OnlyB} {
		if len(list) > 0 {
			fmt.Fprintf(&b, "only in %s: %s\n", string("ab"[i]), strings.Join(list, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func at(p compare.Place) string {
	if p.File == "" {
		return fmt.Sprintf("line %d of the TTIR (%s)", p.TTIR, p.Op)
	}
	return fmt.Sprintf("%s:%d (%s, line %d of the TTIR)", p.File, p.Line, p.Op, p.TTIR)
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// interpretPrecision prints how exact each line of a saved launch is.
func interpretPrecision(w io.Writer, o interpret.Options) error {
	p, err := run.Precision(o.Launch, compare.Options{Programs: o.Programs})
	if err != nil {
		return usage(err)
	}
	if o.JSON {
		return printJSON(w, p)
	}
	t := term.NewTable(w, "line", "variables", "values", "error", "of its inputs", "growth", "operation")
	for _, l := range p.Lines {
		growth := "-"
		if l.Growth > 0 {
			growth = fmt.Sprintf("%.3g×", l.Growth)
		}
		place := fmt.Sprintf("%s:%d", l.File[strings.LastIndexByte(l.File, '/')+1:], l.Line)
		if l.File == "" {
			place = fmt.Sprintf("line %d of the TTIR", l.Line)
		}
		t.Row(place, strings.Join(l.Variables, ", "), l.Values, fmt.Sprintf("%.2g", l.Error), fmt.Sprintf("%.2g", l.Input), growth, l.Op)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "errors are the largest difference from f64 without rounding, by the largest\nnumber, of %d program instances\n", p.Programs)
	for _, n := range p.Notes {
		fmt.Fprintln(w, n)
	}
	return nil
}
