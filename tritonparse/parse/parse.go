// Package parse turns raw TritonParse traces into the form that TritonParse's website and tools open: each compilation with
// its launches, with source maps, analyses, and what differs between the launches.
package parse

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// Options says how traces are parsed.
type Options struct {
	Compat     bool               // maps, differences and analyses are those of tritonparse
	NoPreInit  bool               // a file without a rank does not join the rank of its process
	Rank       *int               // only this rank; nil for all, -1 for the files without a rank
	Kernels    *tritonparse.Names // only kernels of such names, and the autotuner's sessions that they are in; nil for all
	Launches   tritonparse.Filter // only launches that fulfil it
	NoSplit    bool               // one output for each rank, also for what torch.compile compiled
	TorchTrace string             // folder with torch's own traces, in addition to those next to the source; "" for none
	Analyses   []string           // see backend.AnalysisNames; nil for all

	Procedures    []backend.Procedure // to look for; the built-in ones if nil
	OwnProcedures bool                // these are the user's, to be looked for on every backend
	FileCheck     string              // the program that checks what we cannot; "" for none

	// Run runs a launch whose work its code alone does not say; nil for none. Both are records, and several goroutines call it.
	Run func(compilation, launch []byte) (Ran, error)

	Warn     func(string)
	Progress func(Progress) // called a few times a second, on one goroutine

	quirks quirks.Set // of Compat, chosen once
	torch  torchCompilations
	room   room
}

// Ran is what running a launch says of its work.
type Ran = work.Ran

// Progress says how far parsing is.
type Progress struct {
	File       string // that is being read
	Read, Size int64  // bytes of all files, as they are on disk
	Launches   int
}

// Result is what was written and what was not read.
type Result struct {
	Files        []string // below the output folder
	Compilations int
	Launches     int
	Dropped      int // launches that do not say what they launched
	Failed       int // compilations that failed, which TritonParse's form has no place for
	Damaged      int
	Damages      []tritonparse.Damage
}

// Parse reads the raw traces of source, a file or a folder, and writes what TritonParse's website opens into folder, which
// must exist.
func Parse(source, folder string, o Options) (*Result, error) {
	if err := o.complete(source); err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Join(folder, unpacked))
	files, err := sourceFiles(source, filepath.Join(folder, unpacked))
	if err != nil {
		return nil, err
	}
	none := o.Rank != nil && *o.Rank < 0
	buckets, err := chooseRank(tritonparse.Buckets(files, !o.NoPreInit && !none, o.Warn), o.Rank, o.Warn)
	if err != nil {
		return nil, err
	}
	result := &Result{}
	index := &store.Object{}
	index.At("tritonparse_url_prefix").Text = []byte(`""`)
	written, err := parseAll(buckets, folder, &o, result)
	if err != nil {
		return nil, err
	}
	missing := &NoKernelError{}
	for i, b := range buckets {
		w := &written[i]
		for _, n := range w.notes {
			o.Warn(n)
		}
		if w.selection != nil && len(w.names) == 0 {
			missing.add(w.selection)
			if b.HasRank {
				if err := os.Remove(filepath.Join(folder, b.Folder())); err != nil {
					return nil, err
				}
			}
			continue
		}
		for _, n := range w.names {
			result.Files = append(result.Files, filepath.Join(b.Folder(), n))
		}
		listFiles(index.At(b.Key()), w.names, o.rankSuffix(b))
	}
	if result.Compilations+result.Launches == 0 {
		if o.Kernels != nil && len(result.Files) == 0 {
			missing.Patterns = o.Kernels.String()
			return result, missing
		}
		return result, fmt.Errorf("no compilation and no launch in %s; is it a raw trace of TritonParse?", source)
	}
	var indented strings.Builder
	encoder := json.NewEncoder(&indented)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(json.RawMessage(index.AppendJSON(nil))); err != nil {
		return nil, err
	}
	result.Files = append(result.Files, "log_file_list.json")
	return result, os.WriteFile(filepath.Join(folder, "log_file_list.json"), []byte(indented.String()), 0o644)
}

// complete sets defaults, and reads torch's traces.
func (o *Options) complete(source string) error {
	if o.Compat {
		o.quirks = quirks.TritonParse
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.room == (room{}) {
		o.room = usualRoom
	}
	if o.Procedures == nil {
		var err error
		if o.Procedures, err = backend.ReadProcedures(""); err != nil {
			return err
		}
	}
	if o.NoSplit {
		return nil
	}
	near := source
	if info, err := os.Stat(source); err == nil && !info.IsDir() {
		near = filepath.Dir(source)
	}
	folders := []string{near}
	if o.TorchTrace != "" {
		if _, err := os.Stat(o.TorchTrace); err != nil {
			return err
		}
		folders = []string{o.TorchTrace, near}
	}
	o.torch = readTorchTraces(folders, o.Warn)
	return nil
}

// unpacked is where archives go until they have been read.
const unpacked = ".archives"

// sourceFiles are the raw traces of source; archives are unpacked into a folder.
func sourceFiles(source, into string) ([]string, error) {
	archives := ndjson.CLPArchives(source)
	if len(archives) == 0 {
		return tritonparse.RawFiles(source)
	}
	if err := os.Mkdir(into, 0o700); err != nil {
		return nil, err
	}
	files, err := ndjson.ExtractCLP(archives, into)
	if err != nil {
		return nil, err
	}
	if filepath.Clean(source) == archives[0] {
		return files, nil
	}
	plain, err := tritonparse.RawFiles(source)
	if err != nil { // archives alone
		plain = nil
	}
	return append(files, plain...), nil
}

// chooseRank leaves the bucket of the rank that was asked for. A job of one process has no rank, and its bucket serves for any.
func chooseRank(buckets []tritonparse.Bucket, rank *int, warn func(string)) ([]tritonparse.Bucket, error) {
	if rank == nil {
		return buckets, nil
	}
	var names []string
	for _, b := range buckets {
		if b.HasRank && b.Rank == *rank || !b.HasRank && *rank < 0 {
			return []tritonparse.Bucket{b}, nil
		}
		names = append(names, b.Key())
	}
	for _, b := range buckets {
		if !b.HasRank {
			warn(fmt.Sprintf("no trace has rank %d: those without a rank are parsed", *rank))
			return []tritonparse.Bucket{b}, nil
		}
	}
	return nil, fmt.Errorf("no trace has that rank; there are %s", strings.Join(names, ", "))
}

// rankSuffix is the folder of a bucket's files in log_file_list.json. tritonparse names the folder of the rank that was asked for, and
// none if all ranks were.
func (o *Options) rankSuffix(b tritonparse.Bucket) string {
	folder := b.Folder()
	if o.quirks.Has(quirks.AskedRank) {
		switch {
		case o.Rank == nil:
			folder = ""
		case *o.Rank < 0:
			folder = "rank_none"
		default:
			folder = tritonparse.Bucket{HasRank: true, Rank: *o.Rank}.Folder()
		}
	}
	if folder == "" {
		return ""
	}
	return folder + "/"
}

// listFiles writes a bucket's entry of log_file_list.json.
func listFiles(o *store.Object, names []string, suffix string) {
	var regular []string
	mapped := ""
	for _, n := range names {
		if strings.Contains(strings.ToLower(n), "mapped") {
			mapped = n
		} else {
			regular = append(regular, n)
		}
	}
	o.At("regular_files").Text = ndjson.AppendTexts(nil, regular)
	if mapped != "" {
		o.At("mapped_file").Text = jsontext.Quote(mapped)
	}
	o.At("rank_suffix").Text = jsontext.Quote(suffix)
}

// parser parses the files of one rank.
type parser struct {
	options  Options
	bucket   tritonparse.Bucket
	folder   string
	result   *Result
	interner *launchtext.Interner

	spill       *store.Spill
	sorter      *store.Sorter // launches of kernels that are not resident, by the kernels' numbers
	kernels     map[string]*kernel
	order       []*kernel
	ids         int   // occurrence ids given
	compiled    []int // those given to compilations
	launches    int
	residents   []*kernel
	spareStates store.Spares[residentState] // the memory of evicted ones, to be used again
	held        int                         // bytes of launches that resident kernels hold
	stateBytes  int                         // bytes of what else they have
	line        []byte                      // the last launch that went to the sorter
	sites       sites

	selection *selection // nil if all kernels are asked for
	notes     []string   // what the output leaves out
}

// rankOutput is what was written for one rank.
type rankOutput struct {
	names     []string
	selection *selection // nil if all kernels were asked for
	notes     []string
}

// parsed is one record, ready to be numbered: a launch, a compilation, what the autotuner says, or none of them.
type parsed struct {
	launch      launchtext.Launch
	compilation *compilation
	tuned       *tuneResult
	failed      bool // a compilation that failed
}

// parseAll numbers the records of all ranks in their order on this goroutine. Other goroutines read and parse them. While a rank is
// written, the next one is read.
func parseAll(buckets []tritonparse.Bucket, folder string, o *Options, result *Result) ([]rankOutput, error) {
	var files []string
	for _, b := range buckets {
		files = append(files, b.Files...)
	}
	shared := launchtext.Interner{Quirks: o.quirks}
	in := newFeed(files, &shared, o)
	defer in.stop()
	progress := newMeter(files, o.Progress, result)
	written := make([]rankOutput, len(buckets))
	var writing chan error
	wait := func() error {
		if writing == nil {
			return nil
		}
		err := <-writing
		writing = nil
		return err
	}
	for i, b := range buckets {
		p := &parser{options: *o, bucket: b, result: result, folder: filepath.Join(folder, b.Folder()), interner: &shared, kernels: map[string]*kernel{}}
		var err error
		if o.Kernels != nil {
			p.selection, err = selectKernels(b.Files, o)
			written[i].selection = p.selection
		}
		if err == nil {
			err = p.read(in, progress)
		}
		if waited := wait(); err == nil {
			err = waited
		}
		if err != nil {
			p.close()
			return nil, err
		}
		writing = make(chan error, 1)
		go func() {
			var err error
			written[i].names, err = p.writeAll()
			written[i].notes = p.notes
			p.close()
			writing <- err
		}()
	}
	return written, wait()
}

// read takes the records of the rank's files.
func (p *parser) read(in *feed, progress *meter) error {
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return err
	}
	var err error
	if p.spill, err = store.NewSpill(p.folder); err != nil {
		return err
	}
	p.sorter = store.NewSorter(p.folder, p.options.room.sorter)
	p.sites.spill, p.sites.sorter = p.spill, store.NewSorter(p.folder, (p.options.room.sorter+1)/2)
	p.sites.room, p.sites.quirks = p.options.room.waiting, p.options.quirks
	for range p.bucket.Files {
		f := in.next()
		err := f.deliver(p.take, func(position int64) error {
			progress.tell(f.path, position)
			return errors.Join(p.spill.Failed(), p.sorter.Failed(), p.sites.sorter.Failed())
		})
		if err != nil {
			return err
		}
		damages, n := f.reader.Damages()
		p.result.Damaged += n
		for _, d := range damages {
			p.result.Damages = append(p.result.Damages, tritonparse.Damage(d))
		}
		progress.ended(f.path)
	}
	return nil
}

// close removes the temporary files.
func (p *parser) close() {
	if p.spill != nil {
		p.spill.Close()
		p.sorter.Close()
		p.sites.sorter.Close()
	}
}

// filter forgets a launch that was not asked for.
func (r *parsed) filter(text []byte, f tritonparse.Filter) {
	if !f.Match(text) {
		r.launch = launchtext.Launch{}
	}
}
