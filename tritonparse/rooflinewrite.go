package tritonparse

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
)

// summary is what stands before the launches.
type summary struct {
	gemm                      bool
	bytes, load, store, flops int64 // of one program; negative where not known
	notes                     []string

	differ bool // programs of some launches do other work
}

// maxNotes is how many notes there are to a kernel.
const maxNotes = 20

// estimates are those of the kinds of one part of the log.
type estimates struct {
	of   func(*workKind) estimate
	list []estimate
	anew bool // there was a part before
}

func (e *estimates) begin()          { e.list, e.anew = e.list[:0], true }
func (e *estimates) add(k *workKind) { e.list = append(e.list, e.of(k)) }
func (e *estimates) last() *estimate { return &e.list[len(e.list)-1] }

// write writes the event of a kernel, without its end.
func (r *roofline) write(sp *spill, w writer, k *kernel, source *workSource, compat bool) error {
	t := r.template
	if t == nil {
		t = newWorkTemplate(source, compat)
	}
	all := &estimates{of: t.estimate}
	s := summary{bytes: -1, flops: -1}
	take := func() { s.take(all.last()) }
	if compat {
		all.of, s, take = t.compat.estimate, t.compat.summary(), func() {}
	}
	err := r.each(sp, workLog{anew: all.begin, kind: func(k *workKind) { all.add(k); take() }, launches: func(workRun) {}})
	if err != nil {
		return err
	}
	w(fmt.Appendf(nil, `{"event_type":"roofline","hash":%s,"name":%s,"roofline":{"is_gemm":%t,"estimation_method":"ttir_static_x_launch","bytes_moved_per_cta":%s,"flops_per_cta":%s,"per_launch":[`,
		jsontext.Quote(k.hash), jsontext.Quote(k.name), s.gemm, numberOrNull(s.bytes), numberOrNull(s.flops)))
	if err := r.writeLaunches(sp, w, all); err != nil {
		return err
	}
	w(append(s.appendEnd([]byte{']'}), '}'))
	return nil
}

func numberOrNull(n int64) []byte {
	if n < 0 {
		return null
	}
	return strconv.AppendInt(nil, n, 10)
}

// writeLaunches goes through the log once more. The estimates are those of its last part, which mostly is the only one.
func (r *roofline) writeLaunches(sp *spill, w writer, all *estimates) error {
	to := workLog{anew: all.begin, kind: all.add}
	if all.anew {
		all.begin()
	} else {
		to.kind = func(*workKind) {}
	}
	p := pieces{put: w}
	begun := false
	to.launches = func(n workRun) {
		e := &all.list[n.kind]
		for i := range n.count {
			if begun {
				p.write([]byte(","))
			}
			begun = true
			p.hold(e.appendLaunch(p.held, n.index+i, n.id+i))
		}
	}
	err := r.each(sp, to)
	p.flush()
	return err
}

func (e *estimate) appendLaunch(out []byte, index, id int) []byte {
	grid := e.grid
	if len(grid) == 0 {
		grid = null
	}
	out = fmt.Appendf(out, `{"launch_index":%d,"occurrence_id":%d,"grid":%s,"num_ctas":%s,"bytes_moved":%s,"bytes_from_ir_x_grid":%s,"bytes_from_args":%s,"flops":%s,"arithmetic_intensity":`,
		index, id, grid, numberOrNull(e.programs), numberOrNull(e.moved()), numberOrNull(e.fromIR), numberOrNull(e.fromArgs), numberOrNull(e.flops))
	if moved := e.moved(); e.flops >= 0 && moved > 0 {
		out = jsontext.AppendFloat(out, float64(e.flops)/float64(moved))
	} else {
		out = append(out, null...)
	}
	return append(out, '}')
}

// take takes the next kind of launch. The figures of one program are those of the first launch.
func (s *summary) take(e *estimate) {
	for _, n := range e.notes {
		if len(s.notes) <= maxNotes && !slices.Contains(s.notes, n) {
			s.notes = append(s.notes, n)
		}
	}
	e.notes = nil
	s.gemm = s.gemm || e.work.Dots > 0
	if e.programs <= 0 {
		return
	}
	load, store := e.work.Loaded/e.programs, e.work.Stored/e.programs
	if s.bytes >= 0 && (s.load != load || s.store != store) {
		s.differ = true
		return
	}
	s.load, s.store, s.bytes, s.flops = load, store, load+store, e.flops/e.programs
}

// appendEnd writes what stands behind the launches.
func (s *summary) appendEnd(out []byte) []byte {
	if s.bytes >= 0 {
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
		out = append(append(out, `,"notes":`...), appendTexts(nil, notes)...)
	}
	return out
}
