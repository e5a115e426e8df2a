package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// ExcerptOptions says which records are written, and how. All conditions must hold.
type ExcerptOptions struct {
	Kernels *tritonparse.Names
	Hashes  []string // beginnings of compile hashes; none for all
	Types   []string // of records; none for all
	Lines   Lines    // in each file; none for all
	Filter  tritonparse.Filter
	Most    int // launches of each compilation; 0 for all

	Compilations bool // also write the compilations that the launches name
	NoIR         bool // without texts of representations, sources and source maps
	Pretty       bool // each record over several lines
	Nearby       bool // also return the files next to the trace that the records name

	FilesFrom nearby.Sources // folders where those may be, in addition to the trace's
}

// Excerpt says what was written.
type Excerpt struct {
	Read    int            // records of the trace
	Records map[string]int // those written, by type
	Nearby  []nearby.File  // the files next to the trace that the records name, each once
	Damages []tritonparse.Damage
	Damaged int
}

// WriteExcerpt writes the records of a trace's files, which tritonparse.Files finds.
func WriteExcerpt(w io.Writer, files []string, o ExcerptOptions) (*Excerpt, error) {
	c := &cutter{options: o, out: w}
	if o.Compilations {
		// Which launches there will be must be known before the first compilation is written.
		c.wanted, c.out = map[string]bool{}, nil
		if err := c.read(files); err != nil {
			return nil, err
		}
		c.out = w
	}
	c.result = Excerpt{Records: map[string]int{}}
	return &c.result, c.read(files)
}

type cutter struct {
	options ExcerptOptions
	out     io.Writer // nil in a pass that only looks
	result  Excerpt
	wanted  map[string]bool // hashes of the launches; nil unless their compilations are asked for
	taken   map[string]int  // launches by compilation
	matched map[string]bool // whether the kernel of a hash is asked for, for records that do not name it
	nearby  nearbyFiles
	path    string // of the file that is read
}

// record is a record as a worker reads it.
type record struct {
	kind, hash, name string
	index            int
	chosen           bool // the record meets all conditions that it alone decides
	text             []byte
	named            named // with Options.Nearby
}

func (c *cutter) read(files []string) error {
	c.nearby.sources = c.options.FilesFrom
	c.taken, c.matched = map[string]int{}, map[string]bool{}
	for _, f := range files {
		c.path = f
		if err := c.file(f); err != nil {
			return err
		}
	}
	c.result.Nearby = c.nearby.all
	return nil
}

func (c *cutter) file(path string) error {
	damages, n, err := ndjson.ReadFile(path, func(rec ndjson.Record, into *record, room []jsontext.Member) ([]jsontext.Member, error) {
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err != nil {
			return members, err
		}
		if *into = c.parse(path, rec, members); into.kind == "" {
			err = tritonparse.ErrNoType
		}
		return members, err
	}, c.take)
	for _, d := range damages {
		c.result.Damages = append(c.result.Damages, tritonparse.Damage(d))
	}
	c.result.Damaged += n
	return err
}

func (c *cutter) parse(path string, rec ndjson.Record, members []jsontext.Member) record {
	h := ndjson.ReadHeader(members)
	r := record{kind: h.Type, hash: h.Hash, name: h.Name, index: rec.Index, text: rec.Text}
	o := &c.options
	r.chosen = (o.Types == nil || slices.Contains(o.Types, r.kind)) && o.Lines.Has(r.index) && o.hash(r.hash) &&
		(r.kind != "launch" || o.Filter.Match(rec.Text)) && (!o.cutsLaunches() || !aboutLaunches(r.kind) || slices.Contains(o.Types, r.kind))
	// A compilation may yet be wanted by a launch.
	if c.out != nil && (r.chosen || c.wanted[r.hash] && r.kind == "compilation") {
		r.text = o.form(r.kind, rec.Text, members)
		if o.Nearby {
			r.named = namedBy(path, r.kind, rec, members)
		}
	}
	return r
}

func (o *ExcerptOptions) hash(hash string) bool {
	return len(o.Hashes) == 0 || slices.ContainsFunc(o.Hashes, func(h string) bool { return hash != "" && strings.HasPrefix(hash, h) })
}

// cutsLaunches says whether some launches of a compilation may be left out while others stay.
func (o *ExcerptOptions) cutsLaunches() bool { return o.Filter != nil || o.Most > 0 }

// aboutLaunches says whether records of a type in parsed traces sum up launches: with fewer launches they would be wrong.
func aboutLaunches(kind string) bool {
	switch kind {
	case "launch_diff", "roofline", "autotune_analysis", "autotune_summary":
		return true
	}
	return false
}

// kernel says whether the record's kernel is asked for. Some records of parsed traces have the hash only; records that name the
// kernel come before them.
func (c *cutter) kernel(r *record) bool {
	if c.options.Kernels == nil {
		return true
	}
	if r.name == "" {
		return c.matched[r.hash]
	}
	ok := c.options.Kernels.Match(r.name)
	if r.hash != "" && ok {
		c.matched[r.hash] = true
	}
	return ok
}

func (c *cutter) take(r *record) error {
	c.result.Read++
	chosen := c.kernel(r) && r.chosen
	if r.kind == "launch" && chosen && c.options.Most > 0 {
		c.taken[r.hash]++
		chosen = c.taken[r.hash] <= c.options.Most
	}
	if c.out == nil {
		if chosen && r.kind == "launch" && r.hash != "" {
			c.wanted[r.hash] = true
		}
		return nil
	}
	if !chosen && (r.kind != "compilation" || !c.wanted[r.hash]) {
		return nil
	}
	c.result.Records[r.kind]++
	c.nearby.add(c.path, r.named)
	if _, err := c.out.Write(r.text); err != nil {
		return err
	}
	_, err := c.out.Write([]byte{'\n'})
	return err
}

// form is the text of a record as it is written.
func (o *ExcerptOptions) form(kind string, text []byte, members []jsontext.Member) []byte {
	if o.NoIR && kind == "compilation" {
		text = withoutTexts(members)
	}
	if o.Pretty {
		var b bytes.Buffer
		if json.Indent(&b, text, "", "  ") == nil {
			return b.Bytes()
		}
	}
	return text
}

// withoutTexts is a compilation without what makes it large. file_content stays, as an empty object: TritonParse's website
// leaves out compilations that do not have it.
func withoutTexts(members []jsontext.Member) []byte {
	return ndjson.Object(members, func(m jsontext.Member) []byte {
		if m.Name != "payload" {
			return m.Value
		}
		payload, err := jsontext.Members(m.Value)
		if err != nil {
			return m.Value
		}
		return ndjson.Object(payload, func(m jsontext.Member) []byte {
			switch m.Name {
			case "file_content":
				return []byte("{}")
			case "python_source", "source_mappings":
				return nil
			}
			return m.Value
		})
	})
}

type Lines []span

type span struct{ from, to int }

// ParseLines reads 1,3,5-10,-5,20-: single lines, ranges with both ends in them, all until, all since.
func ParseLines(text string) (Lines, error) {
	var lines Lines
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		from, to, isRange := strings.Cut(part, "-")
		s := span{0, int(^uint(0) >> 1)}
		ok := part != "-"
		if from != "" {
			ok = ok && number(from, &s.from)
		}
		if to != "" {
			ok = ok && number(to, &s.to)
		}
		if !isRange {
			s.to = s.from
		}
		if !ok || s.to < s.from {
			return nil, fmt.Errorf("read the lines %q: write 1,3,5-10, also -5 for all until 5 and 20- for all since 20", part)
		}
		lines = append(lines, s)
	}
	if lines == nil && strings.Contains(text, ",") {
		return nil, fmt.Errorf("read the lines %q: there are none in it; leave it out for all", text)
	}
	return lines, nil
}

func number(text string, n *int) bool {
	v, err := strconv.ParseUint(text, 10, 31)
	*n = int(v)
	return err == nil
}

// Has says whether a line is in one of the ranges; without any all are.
func (l Lines) Has(line int) bool {
	for _, s := range l {
		if s.from <= line && line <= s.to {
			return true
		}
	}
	return len(l) == 0
}
