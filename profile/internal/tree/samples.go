package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/goproton/goproton/profile"
)

// Instruction samples are lists of whole numbers; what the numbers mean stands in one table, the root's key "sampling".

func samples(w Writer, all []profile.FunctionSamples) {
	w.Key("samples")
	before := w.Wrap(false)
	w.List(len(all))
	for i := range all {
		w.Next()
		list(w, flat(&all[i]), w.Unsigned)
	}
	w.EndList()
	w.Wrap(before)
}

// samplingMembers are those of the table. Functions come last but one: the texts and frames that they refer to are collected first.
func samplingMembers(s *profile.Sampling, strings *[]string, frames *[]uint64, functions part) members {
	return members{
		{"mode", &s.Mode}, {"period", &s.Period}, {"reasons", &s.Reasons}, {"total", &s.Total}, {"dropped", &s.Dropped}, {"non_user", &s.NonUser},
		{"apportioned", &s.Apportioned}, {"buffer_full", &s.BufferFull}, {"strings", strings}, {"frames", frames}, {"functions", functions},
		{"sources", &s.Sources},
	}
}

// functionMembers are those of a function, whose architecture and places are elsewhere.
func functionMembers(f *profile.SampledFunction, places *[]uint64, arch ...member) members {
	all := append(members{{"name", &f.Name}, {"module", &f.Module}, {"index", (*capped)(&f.Index)}}, arch...)
	return append(all, members{
		{"size", &f.Size}, {"registers", (*capped)(&f.Registers)}, {"shared", &f.Shared}, {"frame", &f.Frame},
		{"local_loads", (*capped)(&f.LocalLoads)}, {"local_stores", (*capped)(&f.LocalStores)}, {"places", places},
	}...)
}

func sourceMembers(f *profile.SourceText, lines *[]uint64, texts *[]string) members {
	return members{{"file", &f.File}, {"sha256", &f.SHA256}, {"lines", lines}, {"text", texts}}
}

func sampling(w Writer, s *profile.Sampling) {
	var shared sharedTables
	places := make([][]uint64, len(s.Functions))
	for i := range s.Functions {
		for _, p := range s.Functions[i].Places {
			places[i] = append(places[i], p.Offset, shared.chain(p.Frames))
		}
	}
	w.Key("sampling")
	samplingMembers(s, &shared.strings, &shared.frames, part{write: func(w Writer) {
		w.List(len(s.Functions))
		for i := range s.Functions {
			f := &s.Functions[i]
			w.Next()
			functionMembers(f, &places[i], architecture(f)).write(w)
		}
		w.EndList()
	}}).write(w)
}

// architecture is a compute capability as the number "sm", 0 if it is not known, and any other architecture as the text "arch".
func architecture(f *profile.SampledFunction) member {
	n, err := strconv.ParseUint(f.Arch, 10, 31)
	if f.Arch != "" && (err != nil || n == 0 || strconv.FormatUint(n, 10) != f.Arch) {
		return member{"arch", &f.Arch}
	}
	return member{"sm", &n}
}

func sources(w Writer, files []profile.SourceText) {
	w.List(len(files))
	for i := range files {
		f := &files[i]
		var lines []uint64
		var texts []string
		for _, l := range f.Lines {
			lines, texts = append(lines, uint64(max(l.Number, 0))), append(texts, l.Text)
		}
		w.Next()
		sourceMembers(f, &lines, &texts).write(w)
	}
	w.EndList()
}

// sharedTables collects what functions share.
type sharedTables struct {
	strings []string
	frames  []uint64
	known   map[string]uint64
	numbers map[frame]uint64
}

// frame is a line of the source below the one that it was inlined into.
type frame struct{ file, line, name, caller uint64 } // caller is a number from 1, 0 for none

const frameSize = 4 // numbers of a frame in a file

// chain returns the number of the innermost frame.
func (t *sharedTables) chain(frames []profile.SourceFrame) (at uint64) {
	for _, f := range slices.Backward(frames) {
		at = t.frame(frame{t.string(f.File), uint64(max(f.Line, 0)), t.string(f.Func), at})
	}
	return at
}

func (t *sharedTables) frame(f frame) uint64 {
	if n, ok := t.numbers[f]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = map[frame]uint64{}
	}
	t.frames = append(t.frames, f.file, f.line, f.name, f.caller)
	t.numbers[f] = uint64(len(t.frames) / frameSize)
	return t.numbers[f]
}

func (t *sharedTables) string(s string) uint64 {
	if n, ok := t.known[s]; ok {
		return n
	}
	if t.known == nil {
		t.known = map[string]uint64{}
	}
	t.known[s] = uint64(len(t.strings))
	t.strings = append(t.strings, s)
	return t.known[s]
}

// flat returns a function's samples as a list: its position, then for every instruction its offset, how many reasons
// follow, and for each of them its position, the samples, and those of them that were not issued.
func flat(f *profile.FunctionSamples) []uint64 {
	list := []uint64{uint64(f.Function)}
	for i := range f.PCs {
		pc := &f.PCs[i]
		list = append(list, pc.Offset, uint64(len(pc.Stalls)))
		for _, s := range pc.Stalls {
			list = append(list, uint64(s.Reason), s.Samples, s.NotIssued)
		}
	}
	return list
}

const stallSize = 3

// unflat is the reverse of flat.
func unflat(list []uint64) (f profile.FunctionSamples, err error) {
	if len(list) == 0 || list[0] > math.MaxInt32 {
		return f, errors.New("it does not begin with the position of a function")
	}
	f.Function = int(list[0])
	for rest := list[1:]; len(rest) > 0; {
		if len(rest) < 2 || rest[1] > uint64(len(rest)-2)/stallSize {
			return f, errors.New("it ends within an instruction")
		}
		pc := profile.PCSamples{Offset: rest[0], Stalls: make([]profile.Stall, rest[1])}
		if n := len(f.PCs); n > 0 {
			if err := behind("offset", pc.Offset, f.PCs[n-1].Offset); err != nil {
				return f, err
			}
		}
		rest = rest[2:]
		for i := range pc.Stalls {
			if rest[0] > math.MaxUint16 || rest[2] > rest[1] {
				return f, fmt.Errorf("%d, %d, %d are not the number of a stall reason, its samples and those of them not issued", rest[0], rest[1], rest[2])
			}
			pc.Stalls[i] = profile.Stall{Reason: uint16(rest[0]), Samples: rest[1], NotIssued: rest[2]}
			rest = rest[stallSize:]
		}
		f.PCs = append(f.PCs, pc)
	}
	return f, nil
}

// readSamples reads a node's samples. Finish checks that they fit the table, which may come later.
func readSamples(r Reader) (all []profile.FunctionSamples) {
	for c := r.List("samples"); c.More; c = r.Next(c) {
		start := r.Here()
		r.Keep(entrySize)
		f, err := unflat(numbers(r, "a list of numbers"))
		if err != nil {
			r.Fail(start, "samples of a function: %v", err)
		}
		all = append(all, f)
	}
	return all
}

// behind checks that numbers of a list rise.
func behind(what string, n, before uint64) error {
	if n <= before {
		return fmt.Errorf("%s %d does not follow %s %d", what, n, what, before)
	}
	return nil
}

// readSampling reads the table. Functions may come before what they refer to, so that is looked up at the end.
func readSampling(r Reader) *profile.Sampling {
	start := r.Here()
	s := &profile.Sampling{}
	var shared chains
	var places [][]uint64 // of each function
	functions := part{read: func(r Reader) { s.Functions, places = readFunctions(r) }}
	samplingMembers(s, &shared.strings, &shared.frames, functions).read(r, "sampling")
	err := shared.link()
	for i := range s.Functions {
		if err != nil {
			break
		}
		f := &s.Functions[i]
		if f.Places, err = shared.places(places[i]); err != nil {
			err = fmt.Errorf("places of function %.100q: %w", f.Name, err)
		}
	}
	if err != nil {
		r.Fail(start, "sampling: %v", err)
	}
	return s
}

func readFunctions(r Reader) (functions []profile.SampledFunction, places [][]uint64) {
	for c := r.List("functions"); c.More; c = r.Next(c) {
		var f profile.SampledFunction
		var of []uint64
		r.Keep(entrySize)
		var sm capped
		functionMembers(&f, &of, member{"arch", &f.Arch}, member{"sm", &sm}).read(r, "a function")
		if sm > 0 {
			f.Arch = strconv.Itoa(int(sm))
		}
		functions, places = append(functions, f), append(places, of)
	}
	return functions, places
}

func readSources(r Reader) (files []profile.SourceText) {
	for c := r.List("sources"); c.More; c = r.Next(c) {
		start := r.Here()
		var f profile.SourceText
		var at []uint64
		var words []string
		r.Keep(entrySize)
		sourceMembers(&f, &at, &words).read(r, "a source")
		if len(at) != len(words) {
			r.Fail(start, "sampling: source %.100q has %d numbers of lines and %d texts", f.File, len(at), len(words))
			return files
		}
		before := uint64(0)
		for i, n := range at {
			if err := behind("line", n, before); err != nil || n > math.MaxInt32 {
				r.Fail(start, "sampling: source %.100q: line %d is not behind the line before it", f.File, n)
				return files
			}
			before = n
			f.Lines = append(f.Lines, profile.SourceLine{Number: int(n), Text: words[i]})
		}
		files = append(files, f)
	}
	return files
}

// Bounds on what a table may make a reader keep. Real ones have up to 9 frames in a chain, and ten thousand frames.
const (
	mostInlined = 256
	mostFrames  = 1 << 20 // summed over the chains
)

// chains are the inlined calls that places refer to.
type chains struct {
	strings []string
	frames  []uint64
	list    [][]profile.SourceFrame // by number of the innermost frame; places share them
}

// link makes the chains. A frame's caller comes before it, so there are no circles.
func (c *chains) link() error {
	if len(c.frames)%frameSize != 0 {
		return errors.New("a frame is not a file, a line, a function and a caller")
	}
	c.list = make([][]profile.SourceFrame, 1, 1+len(c.frames)/frameSize)
	total := 0
	for list := c.frames; len(list) > 0; list = list[frameSize:] {
		f := frame{list[0], list[1], list[2], list[3]}
		if f.file >= uint64(len(c.strings)) || f.name >= uint64(len(c.strings)) || f.line > math.MaxInt32 || f.caller >= uint64(len(c.list)) {
			return fmt.Errorf("frame %d names a missing text or caller", len(c.list))
		}
		outer := c.list[f.caller]
		if total += 1 + len(outer); len(outer) >= mostInlined || total > mostFrames {
			return fmt.Errorf("frame %d: chains of inlined calls are too long", len(c.list))
		}
		chain := make([]profile.SourceFrame, 0, 1+len(outer))
		chain = append(chain, profile.SourceFrame{File: c.strings[f.file], Line: int(f.line), Func: c.strings[f.name]})
		c.list = append(c.list, append(chain, outer...))
	}
	return nil
}

func (c *chains) places(list []uint64) (places []profile.Place, err error) {
	if len(list)%2 != 0 {
		return nil, errors.New("a place is not an offset and a frame")
	}
	for ; len(list) > 0; list = list[2:] {
		if list[1] == 0 || list[1] >= uint64(len(c.list)) {
			return nil, fmt.Errorf("there is no frame %d", list[1])
		}
		if n := len(places); n > 0 {
			if err := behind("offset", list[0], places[n-1].Offset); err != nil {
				return nil, err
			}
		}
		places = append(places, profile.Place{Offset: list[0], Frames: c.list[list[1]]})
	}
	return places, nil
}

// checkSamples checks that every sample of a tree refers to an entry of the profile's table, so that no other code has to. The
// error names what does not.
func checkSamples(p *profile.Profile) error {
	functions, reasons := 0, 0
	if p.Sampling != nil {
		functions, reasons = len(p.Sampling.Functions), len(p.Sampling.Reasons)
	}
	var err error
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Samples {
			if f := &n.Samples[i]; f.Function >= functions {
				err = fmt.Errorf("samples of frame %.100q are of function %d, and the root's key \"sampling\" has %d", n.Name, f.Function, functions)
			} else if at := badReason(f, reasons); at >= 0 {
				err = fmt.Errorf("samples of frame %.100q have reason %d, and the root's key \"sampling\" has %d", n.Name, at, reasons)
			}
		}
		return err == nil
	})
	return err
}

func badReason(f *profile.FunctionSamples, reasons int) int {
	for _, pc := range f.PCs {
		for _, s := range pc.Stalls {
			if int(s.Reason) >= reasons {
				return int(s.Reason)
			}
		}
	}
	return -1
}
