package viewer

import (
	"bufio"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/goproton/goproton/viewer/internal/grid"
)

// printTable prints the rows as a table with borders, the name first and indented by depth. It is the only user of
// tablewriter, whose every default that changes text is set here: it would trim the indentation, wrap long names and
// write headers in capitals.
func printTable(out *bufio.Writer, t *Table, p *Terminal) error {
	l := newLines(out, t, p)
	l.measure()
	header := []string{"name"}
	align := []tw.Align{tw.AlignLeft}
	room := p.Width - tableBorder - 1
	for i := range l.columns {
		c := &l.columns[i]
		title := c.label
		if c.unit != "" {
			title += " (" + c.unit + ")"
		}
		header = append(header, title)
		room -= max(c.width, grid.Columns(title)) + tableBorder
		if c.word != nil {
			align = append(align, tw.AlignLeft)
		} else {
			align = append(align, tw.AlignRight)
		}
	}
	table := newBoxes(out, p.ASCII, align)
	table.Header(header)
	for r := range t.All() {
		name := l.glyphs.Short(strings.Repeat("  ", min(r.Depth, grid.Deepest))) + l.name(r)
		if p.Width > 0 {
			name = grid.Fit(name, max(room, leastName), l.glyphs.Dots)
		}
		cells := []string{name}
		for i := range l.columns {
			if c := &l.columns[i]; c.word != nil {
				cells = append(cells, c.word(r))
			} else {
				cells = append(cells, c.form.Text(c.value(r)))
			}
		}
		if err := table.Append(cells); err != nil {
			return err
		}
	}
	return table.Render()
}

// tableBorder is how many columns a cell has in addition to its text: a blank on either side and a line.
const tableBorder = 3

func newBoxes(out *bufio.Writer, ascii bool, align []tw.Align) *tablewriter.Table {
	style := tw.StyleLight
	if ascii {
		style = tw.StyleASCII
	}
	section := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: " ", Right: " ", Overwrite: true}},
	}
	return tablewriter.NewTable(out,
		tablewriter.WithRenderer(renderer.NewBlueprint()),
		tablewriter.WithConfig(tablewriter.Config{Header: section, Row: section, Footer: section}),
		tablewriter.WithDebug(false),
		tablewriter.WithAutoHide(tw.Off),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithTrimTab(tw.Off),
		tablewriter.WithTrimLine(tw.Off),
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.Border{Left: tw.On, Right: tw.On, Top: tw.On, Bottom: tw.On},
			Symbols: tw.NewSymbols(style),
			Settings: tw.Settings{
				Separators: tw.Separators{ShowHeader: tw.On, ShowFooter: tw.Off, BetweenRows: tw.Off, BetweenColumns: tw.On},
				Lines:      tw.Lines{ShowTop: tw.On, ShowBottom: tw.On, ShowHeaderLine: tw.On, ShowFooterLine: tw.Off},
			},
		}),
	)
}
