package tritonparse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Trace is an index of a trace, raw or parsed: it keeps the compilations and reads the launches again when they are asked
// for. Its methods may be called from several goroutines.
type Trace struct {
	Source  string         // as it was given
	Files   []string       // in the order in which they are read
	Records map[string]int // by type

	compilations []*Compilation
	failures     []*Compilation
	byHash       map[string]*Compilation
	known        *patterns
	damages      []Damage
	damaged      int
	kinds        *kinds // nil unless they were asked for
	kindsOnce    sync.Once
	kindsErr     error
}

// OpenOptions says how much is kept of a trace.
type OpenOptions struct {
	NoTexts bool                         // leaves out texts, sources and records of compilations; Stages are known
	Keep    func(hash, name string) bool // compilations that are kept; nil for all
	Kinds   bool                         // Trace.Kinds will be asked for: they are collected at once
}

// Open reads a trace once: a file, a folder of raw traces, or a folder that Parse wrote. In a folder that has both, the raw
// ones are taken. What is damaged is skipped, see Damages; it is an error if nothing else is there.
func Open(source string, o OpenOptions) (*Trace, error) {
	files, err := Files(source)
	if err != nil {
		return nil, err
	}
	t := &Trace{Source: source, Files: files, Records: map[string]int{}, byHash: map[string]*Compilation{}, known: &patterns{}}
	if o.Kinds {
		t.kinds = &kinds{}
	}
	if err := t.index(files, o); err != nil {
		return nil, err
	}
	if len(t.Records) == 0 {
		return nil, NoTrace(source, t.damages)
	}
	return t, nil
}

// OfRecords is a trace of one launch and its compilation, which are records of source. It holds nothing else of source, but finds the contents
// of tensors that were recorded next to it.
func OfRecords(source string, compilation, launch []byte) (*Trace, *LaunchRecord, error) {
	t := &Trace{Source: source, Records: map[string]int{}, byHash: map[string]*Compilation{}, known: &patterns{}}
	file := source
	if filepath.Ext(source) == "" {
		file = filepath.Join(source, "trace")
	}
	members, err := jsontext.Members(compilation)
	if err != nil {
		return nil, nil, err
	}
	t.keep(newCompilation(file, ndjson.Record{Text: compilation}, members, true))
	if members, err = jsontext.Members(launch); err != nil {
		return nil, nil, err
	}
	return t, t.known.records.read(file, ndjson.Record{Text: launch}, members), nil
}

func (t *Trace) index(files []string, o OpenOptions) error {
	x := indexer{trace: t, options: o, seen: map[string]bool{}}
	for _, f := range files {
		if err := x.readFile(f); err != nil {
			return err
		}
	}
	return nil
}

// ErrNoType says that a record is of another format than ours, such as a profile.
var ErrNoType = errors.New("no event_type")

// NoTrace is the error for files without a single record.
func NoTrace(source string, damages []Damage) error {
	first := ""
	if len(damages) > 0 {
		first = " (" + damages[0].String() + ")"
	}
	return fmt.Errorf("%s holds no record of a trace%s: give a trace, raw or parsed, of proton run --trace or of tritonparse; proton viewer reads profiles", source, first)
}

// Compilations are the first real one of each hash, and for hashes without one what is inferred from a launch, in the order
// of their first record.
func (t *Trace) Compilations() []*Compilation { return t.compilations }

// Failures are the compilations that failed, in the order of their records: Extra.Failure says why. They have the texts of the
// stages before the failure, and are not among Compilations.
func (t *Trace) Failures() []*Compilation { return t.failures }

// Compilation is the one of a hash, nil if there is none.
func (t *Trace) Compilation(hash string) *Compilation { return t.byHash[hash] }

// Damages are the first 100 damages of each file, and how many there are.
func (t *Trace) Damages() ([]Damage, int) { return t.damages, t.damaged }

// Newer returns what to say about a trace that a newer version of GoProton wrote, "" about others.
func (t *Trace) Newer() string {
	for _, c := range t.compilations {
		if c.Extra != nil && version.Newer(c.Extra.Tool) != "" {
			return version.Newer(c.Extra.Tool)
		}
	}
	return ""
}

// EachLaunch hands the launches over, file by file and in their order, on the caller's goroutine. A record is valid during
// the call. What is damaged is left out. An error of do ends it and is returned.
func (t *Trace) EachLaunch(do func(*LaunchRecord) error) error {
	for _, f := range t.Files {
		ids := map[string]int{}
		err := eachRecord(f, func(rec ndjson.Record, members []jsontext.Member) *LaunchRecord {
			if ndjson.TextOf(members, "event_type") != "launch" {
				return nil
			}
			return t.known.records.read(f, rec, members)
		}, func(l *LaunchRecord) error {
			l.ID = ids[l.Name]
			ids[l.Name]++
			return do(l)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRecord passes what parse makes of the records of a file to do, in their order; records for which it returns nil are left out.
func eachRecord[T any](file string, parse func(rec ndjson.Record, members []jsontext.Member) *T, do func(*T) error) error {
	_, _, err := ndjson.ReadFile(file, ndjson.WithMembers(parse), func(made **T) error {
		if *made == nil {
			return nil
		}
		return do(*made)
	})
	return err
}

// Unknown is the error for a kernel that is not in the trace, with what was perhaps meant.
func (t *Trace) Unknown(kernel string) error {
	var kernels []Kernel
	for _, c := range t.compilations {
		kernels = append(kernels, Kernel{Name: c.Name})
	}
	return fmt.Errorf("no kernel %q in %s%s", kernel, t.Source, suggestion(kernel, kernels))
}

// EachCompilation reads the real compilations again, with texts and records, and hands them over one by one: the way to those
// of a trace that was opened without texts. do may keep what it gets. An error of do ends it and is returned.
func (t *Trace) EachCompilation(do func(*Compilation) error) error {
	wanted := records{}
	for _, c := range t.compilations {
		wanted.add(c.File, c.Line, c)
	}
	for _, f := range t.Files {
		in := wanted[f]
		if len(in) == 0 {
			continue
		}
		err := eachRecord(f, func(rec ndjson.Record, members []jsontext.Member) *Compilation {
			if in[rec.Index] == nil || ndjson.TextOf(members, "event_type") != "compilation" {
				return nil
			}
			return newCompilation(f, rec, members, true)
		}, func(c *Compilation) error {
			c.Launches = in[c.Line].Launches
			return do(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// records are compilations by the file and the line of a record.
type records map[string]map[int]*Compilation

func (r records) add(file string, line int, c *Compilation) {
	if r[file] == nil {
		r[file] = map[int]*Compilation{}
	}
	r[file][line] = c
}

// Recorded is the first launch of a compilation that says what is in a tensor, by its statistics or by where its contents
// are kept; nil if none does.
func (t *Trace) Recorded(c *Compilation) (*LaunchRecord, error) {
	if c = t.byHash[c.Hash]; c == nil || c.recorded.file == "" {
		return nil, nil
	}
	return t.LaunchAt(c.recorded.file, c.recorded.line)
}

// LaunchAt is the launch that a line of a file holds, counted as `proton trace info` counts them: from 0, without blank
// lines. file is one of Files, or the end of its path; "" if the trace has only one. It reads as far as that line.
func (t *Trace) LaunchAt(file string, line int) (*LaunchRecord, error) {
	r, err := t.recordAt(file, line)
	if err == nil && r.launch == nil {
		err = fmt.Errorf("record %d of %s is not a launch but of type %q; proton trace info --kernel NAME lists launches with their lines", line, r.path, r.kind)
	}
	return r.launch, err
}

// HashAt is the hash of the compilation that a line of a file holds, or of what the launch in that line launched; then there
// is a launch too. Lines and files are LaunchAt's.
func (t *Trace) HashAt(file string, line int) (hash string, launch *LaunchRecord, err error) {
	r, err := t.recordAt(file, line)
	switch {
	case err != nil:
		return "", nil, err
	case r.kind != "compilation" && r.launch == nil:
		return "", nil, fmt.Errorf("record %d of %s is neither a compilation nor a launch but of type %q; proton trace info --compilations lists compilations with their lines", line, r.path, r.kind)
	case r.hash == "":
		return "", nil, fmt.Errorf("record %d of %s does not name its compilation; give the line of the compilation: proton trace info --compilations", line, r.path)
	}
	return r.hash, r.launch, nil
}

// recordAt is what one line of a trace says.
type recordAt struct {
	path, kind string
	hash       string        // of a compilation or launch
	launch     *LaunchRecord // nil if it is none
}

func (t *Trace) recordAt(file string, line int) (recordAt, error) {
	path, err := t.file(file)
	if err != nil {
		return recordAt{}, err
	}
	r, err := ndjson.Open(path)
	if err != nil {
		return recordAt{}, err
	}
	defer r.Close()
	ids := map[string]int{}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && rec.Index > line {
			return recordAt{}, noRecord(path, line, rec.Index, err)
		}
		if err != nil {
			return recordAt{}, err
		}
		if rec.Index < line {
			if name, ok := t.known.launched(rec); ok {
				ids[name]++
			}
			continue
		}
		members, err := jsontext.Members(rec.Text)
		if err != nil {
			return recordAt{}, fmt.Errorf("record %d of %s is damaged: %w", line, path, err)
		}
		return readRecordAt(path, rec, members, ids), nil
	}
}

// readRecordAt keeps nothing of the record's memory. ids are how many launches of each kernel came before.
func readRecordAt(path string, rec ndjson.Record, members []jsontext.Member, ids map[string]int) recordAt {
	h := ndjson.ReadHeader(members)
	r := recordAt{path: path, kind: h.Type}
	switch h.Type {
	case "compilation":
		r.hash = h.Hash
	case "launch":
		rec.Text = bytes.Clone(rec.Text)
		members, _ = jsontext.Members(rec.Text)
		r.launch = new(recordReader).read(path, rec, members)
		r.launch.ID = ids[r.launch.Name]
		r.hash = h.Hash
	}
	return r
}

func noRecord(path string, line, next int, err error) error {
	if err == nil && line >= 0 {
		return fmt.Errorf("record %d of %s is damaged; the next that can be read is %d", line, path, next)
	}
	return fmt.Errorf("%s has no record %d; proton trace info --kernel NAME lists launches with their lines", path, line)
}

// file finds one of the trace's files by the end of its path.
func (t *Trace) file(name string) (string, error) {
	var found []string
	for _, f := range t.Files {
		if f == name {
			return f, nil
		}
		if name == "" || strings.HasSuffix(filepath.ToSlash(f), "/"+filepath.ToSlash(filepath.Clean(name))) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name == "":
		return "", fmt.Errorf("%s has %d files; name the file of the line: %s", t.Source, len(found), strings.Join(baseNames(found), ", "))
	case len(found) > 1:
		return "", fmt.Errorf("%s has %d files %s; give more of the path", t.Source, len(found), name)
	}
	return "", fmt.Errorf("%s has no file %s; it has %s", t.Source, name, strings.Join(baseNames(t.Files), ", "))
}

func baseNames(paths []string) []string {
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

// indexer builds the index.
type indexer struct {
	trace   *Trace
	options OpenOptions
	file    string          // that is read
	ids     map[string]int  // launches of each kernel in it so far
	seen    map[string]bool // hashes of launches that were taken: only the first of each is kept
}

// entry is what a worker makes of a record.
type entry struct {
	kind        string // of record
	compilation *Compilation
	traits      *traits // of a launch
	launch      ndjson.Record
	marks       marks
}

func (x *indexer) readFile(file string) error {
	x.file, x.ids = file, map[string]int{}
	damages, n, err := scanFile(file, func(rec ndjson.Record, into *entry, room []jsontext.Member) ([]jsontext.Member, error) {
		e, ok, err := x.another(rec)
		if ok {
			*into = e
			return room, err
		}
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err != nil {
			return members, err
		}
		if *into = x.parse(file, rec, members); into.kind == "" {
			err = ErrNoType
		}
		return members, err
	}, x.take)
	x.trace.damages = append(x.trace.damages, damages...)
	x.trace.damaged += n
	return err
}

// another recognises a launch that is like one before.
func (x *indexer) another(rec ndjson.Record) (e entry, ok bool, err error) {
	known := x.trace.known
	ok = known.match(rec.Text, func(p *pattern, differences []difference) {
		e = entry{kind: "launch", traits: p.traits, launch: rec, marks: p.marksOf(rec.Text, differences)}
		if x.trace.kinds != nil {
			e.traits, err = p.traitsOf(&known.records, rec, differences)
		}
	})
	return e, ok, err
}

func (x *indexer) parse(file string, rec ndjson.Record, members []jsontext.Member) entry {
	e := entry{kind: ndjson.TextOf(members, "event_type")}
	switch e.kind {
	case "compilation", "compilation_failure":
		if h := ndjson.ReadHeader(members); x.keeps(h.Hash, h.Name) {
			e.compilation = newCompilation(file, rec, members, !x.options.NoTexts)
		}
	case "launch":
		p := x.trace.known.add(rec, members)
		e.traits, e.launch, e.marks = p.traits, rec, p.marks
	}
	return e
}

func (x *indexer) keeps(hash, name string) bool {
	return x.options.Keep == nil || x.options.Keep(hash, name)
}

// inferred is the compilation of a launch, as far as the launch describes it.
func inferred(file string, rec ndjson.Record, members []jsontext.Member, metadata []byte, raw bool) *Compilation {
	c := &Compilation{File: file, Line: rec.Index, PID: ndjson.IntegerOf(members, "pid"), Inferred: true}
	c.Stack = readStack(ndjson.Get(members, "stack"))
	c.setMetadata(metadata)
	if c.Name == "" {
		c.Name = ndjson.TextOf(members, "name")
	}
	if raw {
		c.Raw = bytes.Clone(rec.Text)
	}
	return c
}

func (x *indexer) take(e *entry) error {
	t := x.trace
	t.Records[e.kind]++
	switch {
	case e.compilation == nil:
	case e.kind == "compilation_failure":
		t.failures = append(t.failures, e.compilation)
	default:
		t.keep(e.compilation)
	}
	if e.traits != nil {
		return x.takeLaunch(e)
	}
	return nil
}

func (x *indexer) takeLaunch(e *entry) error {
	t, hash, name := x.trace, e.traits.hash, e.traits.name
	place := Place{x.file, e.launch.Index, x.ids[name]}
	x.ids[name]++
	if c := x.firstLaunch(e); c != nil {
		t.keep(c)
	}
	if c := t.byHash[hash]; c != nil {
		c.Launches++
		if e.marks.values && c.recorded.file == "" {
			c.recorded.file, c.recorded.line = x.file, e.launch.Index
		}
	}
	if t.kinds == nil {
		return nil
	}
	return t.kinds.add(t.known, e.traits, e.launch, place, e.marks.blobs)
}

// firstLaunch infers the compilation of the first launch of each hash; nil for others.
func (x *indexer) firstLaunch(e *entry) *Compilation {
	hash := e.traits.hash
	if hash == "" || x.seen[hash] {
		return nil
	}
	x.seen[hash] = true
	if !x.keeps(hash, e.traits.name) {
		return nil
	}
	members, err := jsontext.Members(e.launch.Text)
	if err != nil {
		return nil
	}
	return inferred(x.file, e.launch, members, ndjson.Get(members, "compilation_metadata"), !x.options.NoTexts)
}

// keep adds a compilation, or puts it in place of an inferred one, unless there is one of its hash already.
func (t *Trace) keep(c *Compilation) {
	was := t.byHash[c.Hash]
	switch {
	case was == nil || c.Hash == "":
		t.compilations = append(t.compilations, c)
		if c.Hash != "" {
			t.byHash[c.Hash] = c
		}
	case was.Inferred && !c.Inferred:
		c.Launches, c.recorded = was.Launches, was.recorded
		t.compilations[slices.Index(t.compilations, was)] = c
		t.byHash[c.Hash] = c
	}
}
