// Package extract writes the kernels of a trace as files for editors, compilers and diff tools: one for each representation, one
// for the Python source, and machine code and tensors if they are available.
// WriteExcerpt writes some records of a trace as a smaller trace, which `proton trace cat` does.
package extract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// Options select what is written.
type Options struct {
	Folder string                                      // must exist
	Stages []string                                    // representations, python and cubin; none for all
	Keep   func(*tritonparse.Compilation) bool         // compilations; nil for all
	Launch func(*tritonparse.LaunchRecord) (keep bool) // launches whose arguments and tensors are written; nil for all
	Args   bool                                        // arguments, one file per compilation
	Blobs  bool                                        // recorded tensors
	Warn   func(string)                                // called for each file that is asked for and not available

	FilesFrom nearby.Sources // folders whose files may be read, in addition to the trace's
}

// File is one that was written.
type File struct {
	Name   string `json:"name"` // below the folder
	Kernel string `json:"kernel,omitempty"`
	Hash   string `json:"hash,omitempty"`
	Stage  string `json:"stage"` // ttir …, python, cubin, arguments, tensor
	Bytes  int64  `json:"bytes"`
}

// Write writes the files of a trace. It needs no texts in the index: compilations are read one at a time.
func Write(t *tritonparse.Trace, o Options) ([]File, error) {
	out, err := nearby.Open(o.Folder)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	w := &writer{options: o, out: out, names: names(t.Compilations())}
	if o.Warn == nil {
		w.options.Warn = func(string) {}
	}
	var there []string // stages
	err = t.EachCompilation(func(c *tritonparse.Compilation) error {
		if o.Keep != nil && !o.Keep(c) {
			return nil
		}
		there = append(there, c.Stages()...)
		return w.compilation(c)
	})
	if err == nil && (o.Args || o.Blobs) {
		err = w.launches(t)
	}
	if err == nil && len(w.files) == 0 {
		err = errors.New("nothing to extract: the trace has none of the compilations that are asked for")
		if len(there) > 0 {
			slices.Sort(there)
			err = fmt.Errorf("nothing to extract: none of the compilations has %s; they have %s", strings.Join(o.Stages, ", "), strings.Join(slices.Compact(there), ", "))
		}
	}
	return w.files, err
}

// recordPlace is where a compilation's record is.
type recordPlace struct {
	file string
	line int
}

func placeOf(c *tritonparse.Compilation) recordPlace { return recordPlace{c.File, c.Line} }

// names returns unique beginnings of file names: the kernel's name with as many digits of the hash as distinguish it from others,
// or with the number of the record if it has no hash.
func names(compilations []*tritonparse.Compilation) map[recordPlace]string {
	names := map[recordPlace]string{}
	for digits := 8; ; digits *= 2 {
		clear(names)
		used, unique := map[string]bool{}, true
		for _, c := range compilations {
			name := fmt.Sprintf("%s.line%d", foreign.FileName(c.Name), c.Line)
			if c.Hash != "" {
				name = foreign.FileName(c.Name) + "." + foreign.FileName(c.Hash[:min(digits, len(c.Hash))])
			}
			// Some file systems ignore case.
			unique = unique && !used[strings.ToLower(name)]
			used[strings.ToLower(name)] = true
			names[placeOf(c)] = name
		}
		if unique || digits >= 64 {
			return names
		}
	}
}

type writer struct {
	options Options
	out     *nearby.Folder
	names   map[recordPlace]string
	files   []File
}

func (w *writer) wants(stage string) bool {
	return len(w.options.Stages) == 0 || slices.Contains(w.options.Stages, stage)
}

func (w *writer) compilation(c *tritonparse.Compilation) error {
	base := w.names[placeOf(c)]
	for _, stage := range c.Stages() {
		if !w.wants(stage) {
			continue
		}
		if err := w.text(File{Name: base + "." + foreign.FileName(stage), Kernel: c.Name, Hash: c.Hash, Stage: stage}, c.Texts[stage]); err != nil {
			return err
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(c.Placeholders)) {
		if w.wants(stage) {
			w.options.Warn(fmt.Sprintf("%s has no %s: the trace says %s", base, stage, c.Placeholders[stage]))
		}
	}
	if p := c.Python; p != nil && p.Code != "" && w.wants("python") {
		head := fmt.Sprintf("# %s, lines %d to %d\n", foreign.Printable(p.File), p.Start, p.End)
		if err := w.text(File{Name: base + ".py", Kernel: c.Name, Hash: c.Hash, Stage: "python"}, head+p.Code); err != nil {
			return err
		}
	}
	if !w.wants("cubin") {
		return nil
	}
	from, why := w.options.FilesFrom.Code(c)
	if from == "" {
		if why != "" {
			w.options.Warn(fmt.Sprintf("%s has no cubin: %s", base, why))
		} else if slices.Contains(w.options.Stages, "cubin") {
			w.options.Warn(fmt.Sprintf("%s has no cubin: it is neither next to the trace nor at %s", base, strings.Join(c.CubinPlaces(), " or ")))
		}
		return nil
	}
	f := File{Name: base + filepath.Ext(from), Kernel: c.Name, Hash: c.Hash, Stage: "cubin"}
	var err error
	f.Bytes, err = w.out.Copy(f.Name, from)
	w.files = append(w.files, f)
	return err
}

func (w *writer) text(f File, text string) error {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	f.Bytes = int64(len(text))
	w.files = append(w.files, f)
	return w.out.WriteText(f.Name, 0o644, []byte(text))
}

// arguments is what is written of the launches of one kind.
type arguments struct {
	Kind     string          `json:"kind"`
	Launches int             `json:"launches"`
	File     string          `json:"file"` // of the first
	Line     int             `json:"line"`
	ID       int             `json:"id"`
	Grid     []int           `json:"grid"`
	Stream   int64           `json:"stream"`
	Args     json.RawMessage `json:"args"` // of the first: addresses differ between launches of a kind
}

// launches writes the arguments, one entry for each kind of launch, and copies tensors.
func (w *writer) launches(t *tritonparse.Trace) error {
	kinds := map[string][]*arguments{} // by hash
	byKind := map[string]*arguments{}
	blobs := map[string]bool{}
	err := t.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		c := t.Compilation(l.Hash)
		if c == nil || w.options.Keep != nil && !w.options.Keep(c) || w.options.Launch != nil && !w.options.Launch(l) {
			return nil
		}
		if a := byKind[l.Kind]; a != nil {
			a.Launches++
		} else if w.options.Args {
			a := &arguments{l.Kind, 1, filepath.Base(l.File), l.Line, l.ID, slices.Clone(l.Grid), l.Stream, rawArguments(l)}
			byKind[l.Kind] = a
			kinds[l.Hash] = append(kinds[l.Hash], a)
		}
		if w.options.Blobs {
			return w.blobs(l, blobs)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range t.Compilations() {
		if kinds[c.Hash] == nil {
			continue
		}
		text, err := json.MarshalIndent(kinds[c.Hash], "", "  ")
		if err != nil {
			return err
		}
		if err := w.text(File{Name: w.names[placeOf(c)] + ".args.json", Kernel: c.Name, Hash: c.Hash, Stage: "arguments"}, string(text)); err != nil {
			return err
		}
	}
	return nil
}

func rawArguments(l *tritonparse.LaunchRecord) json.RawMessage {
	var raw []byte
	for _, a := range l.Args {
		raw = ndjson.AppendMember(raw, a.Name, a.Raw)
	}
	return ndjson.EndObject(raw)
}

// blobs copies the tensors of a launch, each once. In the trace's own folder they are in their places already.
func (w *writer) blobs(l *tritonparse.LaunchRecord, done map[string]bool) error {
	for i := range l.Args {
		t := l.Args[i].Tensor()
		if t == nil || t.Blob == nil || done[t.Blob.Path] {
			continue
		}
		file, kept := w.options.FilesFrom.Tensor(l.File, t.Blob)
		if !kept {
			continue
		}
		done[t.Blob.Path] = true
		if file.From == "" {
			w.options.Warn(fmt.Sprintf("the tensor %s of launch %d of %s is not copied: %s", l.Args[i].Name, l.ID, l.Name, cmp.Or(file.Why, t.Blob.Path)))
			continue
		}
		size, err := file.CopyTo(w.options.Folder, true)
		if err != nil {
			return err
		}
		w.files = append(w.files, File{Name: filepath.FromSlash(file.Name), Stage: "tensor", Bytes: size})
	}
	return nil
}
