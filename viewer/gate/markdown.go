package gate

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
)

// manyRows bounds the table of all call paths: a comment on a pull request holds 64 KiB.
const manyRows = 100

// WriteMarkdown prints a report for a comment on a pull request: a table of what failed, and all else in folded sections.
func (r *Report) WriteMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	icon, word := "✅", "passed"
	if r.Failed {
		icon, word = "❌", "failed"
	}
	fmt.Fprintf(out, "### %s Performance gate %s\n\n%s.\n", icon, word, capital(r.headline()))
	for i := range r.Rules {
		rule := &r.Rules[i]
		icon := "✅"
		if rule.Failed {
			icon = "❌"
		}
		fmt.Fprintf(out, "\n%s %s: %s\n\n", icon, term.MarkdownCode(rule.Rule.Text), rule.summary())
		writeRows(out, rule, rule.shown(false))
	}
	for i := range r.Rules {
		rule := &r.Rules[i]
		all := rule.shown(true)
		fmt.Fprintf(out, "\n<details><summary>All call paths for %s</summary>\n\n", term.MarkdownText(rule.Rule.Text))
		writeRows(out, rule, all[:min(len(all), manyRows)])
		if len(all) > manyRows {
			fmt.Fprintf(out, "\n… and %d more: <code>proton gate --json</code> has all.\n", len(all)-manyRows)
		}
		fmt.Fprintf(out, "\n</details>\n")
	}
	markdownOneSided(out, "New", r.New)
	markdownOneSided(out, "Vanished", r.Vanished)
	if r.Small > 0 {
		fmt.Fprintf(out, "\nNot compared: %s below --min-time.\n", paths(r.Small))
	}
	for _, c := range r.Caveats {
		fmt.Fprintf(out, "\n> %s\n", term.MarkdownText(c))
	}
	return out.Flush()
}

func writeRows(out *bufio.Writer, rule *RuleReport, rows []*Verdict) {
	if len(rows) == 0 {
		return
	}
	table := term.Markdown{Heads: []string{"", "call path", "before", "after", "change", "", "noise", "p"}, Left: []bool{true, true, false, false, false, false, false, false}}
	icons := map[Outcome]string{Fail: "❌", Pass: "", Noise: "noise", Insignificant: "not significant"}
	for _, v := range rows {
		name := "**the whole program**"
		if !v.Whole() {
			name = term.MarkdownCode(v.Label())
		}
		table.Rows = append(table.Rows, append([]string{icons[v.Outcome], name}, v.cells(rule.Unit)...))
	}
	table.Write(out) // whose errors Flush returns
}

func markdownOneSided(out *bufio.Writer, what string, list []OneSided) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "\n<details><summary>%s: %s</summary>\n\n", what, paths(len(list)))
	for _, at := range list[:min(len(list), manyRows)] {
		time := ""
		if !math.IsNaN(at.Time) {
			time = ", " + figures.Amount(at.Time, "ns")
		}
		fmt.Fprintf(out, "- %s%s\n", term.MarkdownCode(at.Label()), time)
	}
	if len(list) > manyRows {
		fmt.Fprintf(out, "- … and %d more\n", len(list)-manyRows)
	}
	out.WriteString("\n</details>\n")
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
