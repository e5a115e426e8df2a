package work

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Summary is what a roofline event says of all launches of a kernel.
type Summary struct {
	Gemm                      bool
	Bytes, load, store, Flops int64 // of one program; negative if not known
	notes                     []string

	differ bool // programs of different launches do different work
}

// maxNotes is how many notes there are to a kernel.
const maxNotes = 20

// NumberOrNull writes a number, and null for a negative one.
func NumberOrNull(n int64) []byte {
	if n < 0 {
		return ndjson.Null
	}
	return strconv.AppendInt(nil, n, 10)
}

// AppendLaunch writes the member of per_launch for a launch with that index and occurrence id.
func (e *Estimate) AppendLaunch(out []byte, index, id int) []byte {
	grid := e.grid
	if len(grid) == 0 {
		grid = ndjson.Null
	}
	out = fmt.Appendf(out, `{"launch_index":%d,"occurrence_id":%d,"grid":%s,"num_ctas":%s,"bytes_moved":%s,"bytes_from_ir_x_grid":%s,"bytes_from_args":%s,"flops":%s,"arithmetic_intensity":`,
		index, id, grid, NumberOrNull(e.programs), NumberOrNull(e.Moved()), NumberOrNull(e.FromIR), NumberOrNull(e.FromArgs), NumberOrNull(e.Flops))
	if moved := e.Moved(); e.Flops >= 0 && moved > 0 {
		out = jsontext.AppendFloat(out, float64(e.Flops)/float64(moved))
	} else {
		out = append(out, ndjson.Null...)
	}
	return append(out, '}')
}

// Take adds the next kind of launch. The figures of one program are those of the first launch.
func (s *Summary) Take(e *Estimate) {
	for _, n := range e.Notes {
		if len(s.notes) <= maxNotes && !slices.Contains(s.notes, n) {
			s.notes = append(s.notes, n)
		}
	}
	e.Notes = nil
	s.Gemm = s.Gemm || e.work.Dots > 0
	if e.programs <= 0 {
		return
	}
	load, store := e.work.Loaded/e.programs, e.work.Stored/e.programs
	if s.Bytes >= 0 && (s.load != load || s.store != store) {
		s.differ = true
		return
	}
	s.load, s.store, s.Bytes, s.Flops = load, store, load+store, e.Flops/e.programs
}

// AppendEnd writes the members behind the launches.
func (s *Summary) AppendEnd(out []byte) []byte {
	if s.Bytes >= 0 {
		out = fmt.Appendf(out, `,"bytes_breakdown_per_cta":{"load":%d,"store":%d}`, s.load, s.store)
	}
	notes := s.notes
	if s.differ && len(notes) <= maxNotes {
		notes = append(notes, "figures of one program are those of the first launch: they depend on the arguments")
	}
	if len(notes) > maxNotes {
		notes = append(notes[:maxNotes:maxNotes], "... (truncated)")
	}
	if len(notes) > 0 {
		out = append(append(out, `,"notes":`...), ndjson.AppendTexts(nil, notes)...)
	}
	return out
}
