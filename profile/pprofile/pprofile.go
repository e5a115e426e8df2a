// Package pprofile reads and writes profile.proto, the format of pprof and of most continuous profilers.
//
// Write turns a tree into samples: one per node, its call path as the stack, every additive metric a sample type,
// everything else about the node a label. Read turns any pprof profile, ours or another tool's, into a tree.
// New, Parse and Tree are the halves of that, for the pprof driver that is embedded in the command.
//
// What profile.proto has no field for (devices, kinds of metrics, facts of the run) travels in one comment that pprof
// hides, so that a tree comes back from a file as it was, also after pprof has merged or filtered it. Loses says what
// does not. docs/formats.md describes the mapping field by field.
package pprofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
)

// Read reads a profile.proto that is not compressed.
func Read(r io.Reader) (*profile.Profile, error) {
	var memory inflate.Memory
	pp, size, err := parse(r, &memory)
	if err != nil {
		return nil, err
	}
	return tree(pp, &memory, size)
}

// Bounds of what the reader accepts. A profile of a million call paths, 20 frames deep, has 60 MB.
const (
	mostBytes = 1 << 30 // of a file
	mostNodes = 1 << 25 // of a tree

	mostStackFrames = 1 << 27 // of all stacks together
)

// Parse reads a profile.proto as pprof sees it. What it cannot understand is a *FormatError with the place in the
// file.
func Parse(r io.Reader) (*pprof.Profile, error) {
	pp, _, err := parse(r, &inflate.Memory{})
	return pp, err
}

// parse also says how many bytes were read, and counts what they take.
func parse(r io.Reader, memory *inflate.Memory) (pp *pprof.Profile, size int64, err error) {
	var data bytes.Buffer
	n, err := io.Copy(&data, io.LimitReader(r, mostBytes+1))
	switch {
	case err != nil:
		return nil, n, err
	case n > mostBytes:
		return nil, n, &FormatError{mostBytes, "the profile has more than 1 GiB; have pprof cut it"}
	case n == 0:
		return nil, n, &FormatError{0, "there is nothing in it; profile again"}
	}
	if err := check(data.Bytes(), memory); err != nil {
		return nil, n, err
	}
	pp, err = pprof.ParseUncompressed(data.Bytes())
	if err == nil {
		err = pp.CheckValid()
	}
	switch {
	case err != nil:
	case len(pp.SampleType) == 0:
		err = errors.New("it has no sample types")
	case len(pp.SampleType) > profile.MaxMetrics:
		err = fmt.Errorf("it has more than %d sample types", profile.MaxMetrics)
	}
	if err != nil {
		return nil, n, fmt.Errorf("decode pprof profile: %w", err)
	}
	return pp, n, nil
}
