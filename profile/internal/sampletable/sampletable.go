// Package sampletable lays instruction samples out for files that hold trees: as lists of whole numbers, with what
// the numbers mean in one table at the root. It knows no syntax; package hatchet writes the lists as JSON, package
// msgpack as MessagePack. docs/formats.md describes them.
package sampletable

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Member is one key of an object, with the value of one of these kinds.
type Member struct {
	Key     string
	Kind    Kind
	Text    string
	Number  uint64
	Texts   []string
	Numbers []uint64
	Objects [][]Member
}

// Kind says which field of a Member is meant.
type Kind uint8

const (
	Text Kind = iota
	Number
	Texts
	Numbers
	Objects
)

// MaxMembers bounds the members of an object that a reader takes in: there are twelve.
const MaxMembers = 64

func text(key, value string) Member            { return Member{Key: key, Text: value} }
func number(key string, value uint64) Member   { return Member{Key: key, Kind: Number, Number: value} }
func texts(key string, list []string) Member   { return Member{Key: key, Kind: Texts, Texts: list} }
func numbers(key string, list []uint64) Member { return Member{Key: key, Kind: Numbers, Numbers: list} }

// Table returns the members of the root's key.
func Table(s *profile.Sampling) []Member {
	var w writer
	functions := Member{Key: "functions", Kind: Objects}
	for i := range s.Functions {
		functions.Objects = append(functions.Objects, w.function(&s.Functions[i]))
	}
	full := uint64(0)
	if s.BufferFull {
		full = 1
	}
	members := []Member{
		text("mode", s.Mode), number("period", s.Period), texts("reasons", s.Reasons),
		number("total", s.Total), number("dropped", s.Dropped), number("non_user", s.NonUser),
		number("apportioned", s.Apportioned), number("buffer_full", full),
		texts("strings", w.strings), numbers("frames", w.frames), functions,
	}
	if len(s.Sources) > 0 {
		members = append(members, sources(s.Sources))
	}
	return members
}

func sources(list []profile.SourceText) Member {
	all := Member{Key: "sources", Kind: Objects}
	for _, s := range list {
		lines, words := make([]uint64, len(s.Lines)), make([]string, len(s.Lines))
		for i, l := range s.Lines {
			lines[i], words[i] = uint64(max(l.Number, 0)), l.Text
		}
		all.Objects = append(all.Objects, []Member{text("file", s.File), text("sha256", s.SHA256), numbers("lines", lines), texts("text", words)})
	}
	return all
}

// writer collects what functions share.
type writer struct {
	strings []string
	frames  []uint64
	known   map[string]uint64
	numbers map[frame]uint64
}

// frame is a line of the source below the one that it was inlined into.
type frame struct{ file, line, name, caller uint64 } // caller is a number from 1, 0 for none

const frameSize = 4 // numbers of a frame in a file

func (w *writer) function(f *profile.SampledFunction) []Member {
	places := make([]uint64, 0, 2*len(f.Places))
	for _, p := range f.Places {
		places = append(places, p.Offset, w.chain(p.Frames))
	}
	return []Member{
		text("name", f.Name), text("module", f.Module), number("index", uint64(f.Index)), number("sm", uint64(f.SM)),
		number("size", f.Size), number("registers", uint64(f.Registers)), number("shared", f.Shared), number("frame", f.Frame),
		number("local_loads", uint64(f.LocalLoads)), number("local_stores", uint64(f.LocalStores)), numbers("places", places),
	}
}

// chain returns the number of the innermost frame.
func (w *writer) chain(frames []profile.SourceFrame) (at uint64) {
	for _, f := range slices.Backward(frames) {
		at = w.frame(frame{w.string(f.File), uint64(max(f.Line, 0)), w.string(f.Func), at})
	}
	return at
}

func (w *writer) frame(f frame) uint64 {
	if n, ok := w.numbers[f]; ok {
		return n
	}
	if w.numbers == nil {
		w.numbers = map[frame]uint64{}
	}
	w.frames = append(w.frames, f.file, f.line, f.name, f.caller)
	w.numbers[f] = uint64(len(w.frames) / frameSize)
	return w.numbers[f]
}

func (w *writer) string(s string) uint64 {
	if n, ok := w.known[s]; ok {
		return n
	}
	if w.known == nil {
		w.known = map[string]uint64{}
	}
	w.known[s] = uint64(len(w.strings))
	w.strings = append(w.strings, s)
	return w.known[s]
}

// Of returns a function's samples as a list: its position, then for every instruction its offset, how many reasons
// follow, and for each of them its position, the samples, and those of them that were not issued.
func Of(f *profile.FunctionSamples) []uint64 {
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

// Samples is the reverse of Of.
func Samples(list []uint64) (f profile.FunctionSamples, err error) {
	if len(list) == 0 || list[0] > math.MaxInt32 {
		return f, errors.New("it does not begin with the position of a function")
	}
	f.Function = int(list[0])
	for rest := list[1:]; len(rest) > 0; {
		if len(rest) < 2 || rest[1] > uint64(len(rest)-2)/stallSize {
			return f, errors.New("it ends within an instruction")
		}
		pc := profile.PCSamples{Offset: rest[0], Stalls: make([]profile.Stall, rest[1])}
		if n := len(f.PCs); n > 0 && f.PCs[n-1].Offset >= pc.Offset {
			return f, fmt.Errorf("offset %d is not behind offset %d", pc.Offset, f.PCs[n-1].Offset)
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

// Bounds on what a table may make a reader keep. Real ones have up to 9 frames in a chain, and ten thousand frames.
const (
	mostInlined = 256
	mostFrames  = 1 << 20 // summed over the chains
)

// Read is the reverse of Table. Members that it does not know are left alone.
func Read(table []Member) (*profile.Sampling, error) {
	s := &profile.Sampling{}
	var r reader
	var functions [][]Member
	for _, m := range table {
		switch m.Key {
		case "mode":
			s.Mode = m.Text
		case "period":
			s.Period = m.Number
		case "reasons":
			s.Reasons = m.Texts
		case "total":
			s.Total = m.Number
		case "dropped":
			s.Dropped = m.Number
		case "non_user":
			s.NonUser = m.Number
		case "apportioned":
			s.Apportioned = m.Number
		case "buffer_full":
			s.BufferFull = m.Number != 0
		case "strings":
			r.strings = m.Texts
		case "frames":
			r.frames = m.Numbers
		case "functions":
			functions = m.Objects
		case "sources":
			for _, of := range m.Objects {
				text, err := source(of)
				if err != nil {
					return nil, err
				}
				s.Sources = append(s.Sources, text)
			}
		}
	}
	if err := r.link(); err != nil {
		return nil, err
	}
	for _, of := range functions {
		f, err := r.function(of)
		if err != nil {
			return nil, err
		}
		s.Functions = append(s.Functions, f)
	}
	return s, nil
}

func source(members []Member) (s profile.SourceText, err error) {
	var lines []uint64
	var words []string
	for _, m := range members {
		switch m.Key {
		case "file":
			s.File = m.Text
		case "sha256":
			s.SHA256 = m.Text
		case "lines":
			lines = m.Numbers
		case "text":
			words = m.Texts
		}
	}
	if len(lines) != len(words) {
		return s, fmt.Errorf("source %.100q has %d numbers of lines and %d texts", s.File, len(lines), len(words))
	}
	for i, n := range lines {
		if n == 0 || n > math.MaxInt32 || i > 0 && n <= lines[i-1] {
			return s, fmt.Errorf("source %.100q: line %d is not behind the line before it", s.File, n)
		}
		s.Lines = append(s.Lines, profile.SourceLine{Number: int(n), Text: words[i]})
	}
	return s, nil
}

type reader struct {
	strings []string
	frames  []uint64
	chains  [][]profile.SourceFrame // by number of the innermost frame; places share them
}

// link makes the chains. A frame's caller comes before it, so there are no circles.
func (r *reader) link() error {
	if len(r.frames)%frameSize != 0 {
		return errors.New("frames are a file, a line, a function and a caller each")
	}
	r.chains = make([][]profile.SourceFrame, 1, 1+len(r.frames)/frameSize)
	total := 0
	for list := r.frames; len(list) > 0; list = list[frameSize:] {
		f := frame{list[0], list[1], list[2], list[3]}
		if f.file >= uint64(len(r.strings)) || f.name >= uint64(len(r.strings)) || f.line > math.MaxInt32 || f.caller >= uint64(len(r.chains)) {
			return fmt.Errorf("frame %d names what is not there", len(r.chains))
		}
		outer := r.chains[f.caller]
		if total += 1 + len(outer); len(outer) >= mostInlined || total > mostFrames {
			return fmt.Errorf("frame %d: chains of inlined calls are too long", len(r.chains))
		}
		chain := make([]profile.SourceFrame, 0, 1+len(outer))
		chain = append(chain, profile.SourceFrame{File: r.strings[f.file], Line: int(f.line), Func: r.strings[f.name]})
		r.chains = append(r.chains, append(chain, outer...))
	}
	return nil
}

func (r *reader) function(members []Member) (f profile.SampledFunction, err error) {
	for _, m := range members {
		switch m.Key {
		case "name":
			f.Name = m.Text
		case "module":
			f.Module = m.Text
		case "index":
			f.Index = clamp(m.Number)
		case "sm":
			f.SM = clamp(m.Number)
		case "size":
			f.Size = m.Number
		case "registers":
			f.Registers = clamp(m.Number)
		case "shared":
			f.Shared = m.Number
		case "frame":
			f.Frame = m.Number
		case "local_loads":
			f.LocalLoads = clamp(m.Number)
		case "local_stores":
			f.LocalStores = clamp(m.Number)
		case "places":
			if f.Places, err = r.places(m.Numbers); err != nil {
				return f, fmt.Errorf("places of function %.100q: %w", f.Name, err)
			}
		}
	}
	return f, nil
}

func clamp(n uint64) int { return int(min(n, math.MaxInt32)) }

func (r *reader) places(list []uint64) (places []profile.Place, err error) {
	if len(list)%2 != 0 {
		return nil, errors.New("they are an offset and a frame each")
	}
	for ; len(list) > 0; list = list[2:] {
		if list[1] == 0 || list[1] >= uint64(len(r.chains)) {
			return nil, fmt.Errorf("there is no frame %d", list[1])
		}
		if n := len(places); n > 0 && places[n-1].Offset >= list[0] {
			return nil, fmt.Errorf("offset %d is not behind offset %d", list[0], places[n-1].Offset)
		}
		places = append(places, profile.Place{Offset: list[0], Frames: r.chains[list[1]]})
	}
	return places, nil
}

// Check checks that every sample of a tree refers to an entry of the profile's table, so that no other code has to. The
// error names what does not.
func Check(p *profile.Profile) error {
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
