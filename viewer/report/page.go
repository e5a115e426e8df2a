package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

//go:embed web/page.html
var pageText string

//go:embed web/style.css
var style string

//go:embed web/*.js
var web embed.FS

// policy allows the one script and the one style sheet by their checksums, the icon in the head, and nothing else:
// no request to anywhere, no eval, no markup that brings a script along.
func policy(script, style string) string {
	sum := func(text string) string {
		digest := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", sum(script), sum(style))
}

// write packs the data and fills the page.
func (b *builder) write(w io.Writer, o Options) error {
	b.Title, b.Made = clean(cmp.Or(o.Title, b.Title)), strings.TrimSpace("proton "+o.Version)
	b.Strings, b.Labels = b.names.all, b.names.labels
	b.Util = b.column("util")
	for i := range b.Columns {
		if words := b.words[b.Columns[i].Name]; words != nil {
			b.Columns[i].Texts = words.all
		}
	}
	data, size, err := b.finish(b.head)
	if err != nil {
		return err
	}
	code, err := script()
	if err != nil {
		return err
	}
	fields := map[string]string{
		"{{.Generator}}": Marker, "{{.Policy}}": policy(code, style), "{{.Title}}": html.EscapeString(b.Title),
		"{{.Style}}": style, "{{.Script}}": code, "{{.Size}}": fmt.Sprint(size), "{{.Data}}": data,
	}
	return fill(w, pageText, fields)
}

// fill writes a page with its fields. It does not use html/template, which would have to parse megabytes of data
// that it must leave alone; the only field that comes from a profile, the title, is escaped above.
func fill(w io.Writer, page string, fields map[string]string) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for page != "" {
		before, rest, found := strings.Cut(page, "{{")
		out.WriteString(before)
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}}")
		out.WriteString(fields["{{"+name+"}}"])
		page = after
	}
	return out.Flush()
}

// column finds a column by name, -1 for none.
func (b *builder) column(name string) int {
	return slices.IndexFunc(b.Columns, func(c column) bool { return c.Name == name && c.Role == "" })
}
