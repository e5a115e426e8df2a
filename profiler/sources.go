package profiler

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
)

// Bounds on the source text that a profile keeps.
const (
	keptAround    = 3         // lines before and behind a line with samples
	longestKept   = 500       // bytes of a line; longer ones are generated
	mostKept      = 256 << 10 // bytes of all lines of a profile
	mostKeptFiles = 200
)

// keepSources puts the text of the sampled lines into a profile, so that it can be read where the files are not. Files that were
// written after the session began are left out: what they say is not what was compiled.
func keepSources(p *profile.Profile, began int64) {
	left := mostKept
	lines := sampledLines(p.Sampling)
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if len(p.Sampling.Sources) == mostKeptFiles || left <= 0 {
			return
		}
		text, err := readSource(name, began)
		if err != nil {
			continue
		}
		kept := profile.SourceText{File: name, SHA256: text.sha256}
		for _, n := range around(lines[name], len(text.lines)) {
			line := text.lines[n-1]
			if len(line) > longestKept || len(line) > left {
				continue
			}
			left -= len(line)
			kept.Lines = append(kept.Lines, profile.SourceLine{Number: n, Text: line})
		}
		if len(kept.Lines) > 0 {
			p.Sampling.Sources = append(p.Sampling.Sources, kept)
		}
	}
}

// sampledLines has the lines of all sampled instructions, with those that they were inlined into, by file.
func sampledLines(s *profile.Sampling) map[string][]int {
	lines := map[string][]int{}
	for i := range s.Functions {
		for _, place := range s.Functions[i].Places {
			for _, frame := range place.Frames {
				lines[frame.File] = append(lines[frame.File], frame.Line)
			}
		}
	}
	return lines
}

// around adds the lines before and behind to some lines, as far as a file of so many lines has them.
func around(lines []int, count int) (all []int) {
	slices.Sort(lines)
	for _, n := range slices.Compact(lines) {
		for m := max(n-keptAround, 1); m <= min(n+keptAround, count); m++ {
			all = append(all, m)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type sourceText struct {
	lines  []string
	sha256 string
}

func readSource(name string, began int64) (text sourceText, err error) {
	if !foreign.IsSource(name) {
		return text, fmt.Errorf("%s is not named as a source", name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return text, err
	}
	if !info.Mode().IsRegular() || info.Size() > foreign.LargestSource || info.ModTime().UnixNano() > began {
		return text, fmt.Errorf("%s is not a source file that could have been compiled", name)
	}
	file, err := ownfile.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return text, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, foreign.LargestSource))
	if err != nil {
		return text, err
	}
	text.sha256 = fmt.Sprintf("%x", sha256.Sum256(b))
	for line := range bytes.Lines(b) {
		text.lines = append(text.lines, strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "\uFFFD"))
	}
	return text, nil
}
