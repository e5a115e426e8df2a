package parse

import (
	"fmt"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// estimates are the estimates of the kinds in one part of the log, by number.
type estimates struct {
	of   func(*work.Inputs) work.Estimate
	run  func(launch []byte) (Ran, error) // nil if no launch is run
	ran  map[string]work.Estimate         // of launches
	list []work.Estimate
	anew bool // the log has several parts
}

func (e *estimates) begin()               { e.list, e.anew = e.list[:0], true }
func (e *estimates) last() *work.Estimate { return &e.list[len(e.list)-1] }

// add estimates a kind. A launch is run once, though the log is read twice.
func (e *estimates) add(k *work.Inputs, launch []byte) {
	if ran, ok := e.ran[string(launch)]; ok {
		e.list = append(e.list, ran)
		return
	}
	e.list = append(e.list, e.of(k))
	if now := e.last(); now.Depends && e.run != nil {
		if len(launch) == 0 {
			now.Notes = append(now.Notes, notAll)
			return
		}
		if !now.Run(func() (Ran, error) { return e.run(launch) }) {
			e.run = nil // others of the kernel would mostly fail too, which may take long
		}
		e.ran[string(launch)] = *now
	}
}

// notAll is said of kinds that would have to be run.
var notAll = fmt.Sprintf("of a kernel %d kinds of launches are run, and of a trace's rank %d kernels: others are counted in their code", mostRun, mostKernelsRun)

// write writes the roofline event of a kernel, up to its occurrence id. run may be nil.
func (r *roofline) write(sp *store.Spill, w store.Writer, k *kernel, source *work.Source, run func(launch []byte) (Ran, error), q quirks.Set) error {
	t := r.template
	if t == nil {
		t = work.NewModel(source, q)
	}
	all := &estimates{of: t.Estimate, run: run, ran: map[string]work.Estimate{}}
	s := work.Summary{Bytes: -1, Flops: -1}
	take := func() { s.Take(all.last()) }
	if q.Has(quirks.StaticWork) {
		all.of, s, take = t.Compat.Estimate, t.Compat.Summary(), func() {}
	}
	err := r.each(sp, workLog{anew: all.begin, kind: func(k *work.Inputs, launch []byte) { all.add(k, launch); take() }, launches: func(workRun) {}})
	if err != nil {
		return err
	}
	w(fmt.Appendf(nil, `{"event_type":"roofline","hash":%s,"name":%s,"roofline":{"is_gemm":%t,"estimation_method":"ttir_static_x_launch","bytes_moved_per_cta":%s,"flops_per_cta":%s,"per_launch":[`,
		jsontext.Quote(k.hash), jsontext.Quote(k.name), s.Gemm, work.NumberOrNull(s.Bytes), work.NumberOrNull(s.Flops)))
	if err := r.writeLaunches(sp, w, all); err != nil {
		return err
	}
	w(append(s.AppendEnd([]byte{']'}), '}'))
	return nil
}

// writeLaunches reads the log a second time. all has the estimates of its last part, which mostly is the only one.
func (r *roofline) writeLaunches(sp *store.Spill, w store.Writer, all *estimates) error {
	to := workLog{anew: all.begin}
	if all.anew {
		all.begin()
		to.kind = all.add
	}
	p := store.Pieces{Put: w}
	begun := false
	to.launches = func(n workRun) {
		e := &all.list[n.kind]
		for i := range n.count {
			if begun {
				p.Write([]byte(","))
			}
			begun = true
			p.Hold(e.AppendLaunch(p.Held, n.index+i, n.id+i))
		}
	}
	err := r.each(sp, to)
	p.Flush()
	return err
}
