package parse

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// writeKernels reads the sorter kernel by kernel and writes several kernels at a time.
func (p *parser) writeKernels(o *outputs) error {
	r, err := p.sorter.Read()
	if err != nil {
		return err
	}
	writers := make([]*kernelWriter, runtime.GOMAXPROCS(0)+1) // that take turns
	for i := range writers {
		writers[i] = newKernelWriter(p)
		defer close(writers[i].start)
	}
	finish := func(w *kernelWriter) {
		if w.k == nil {
			return
		}
		if failed := <-w.done; err == nil {
			err = failed
		}
		o.add(p.output(w.k), w.k.part(), &w.out)
		w.k.state, w.k = nil, nil
	}
	turn := 0
	next := func() *kernelWriter {
		turn++
		return writers[turn%len(writers)]
	}
	for _, k := range p.order {
		w := next()
		if finish(w); err != nil {
			break
		}
		w.begin(k)
		err = w.gather(r)
		w.start <- err == nil
	}
	for range writers {
		finish(next())
	}
	return err
}

// kernelWriter writes all events of one kernel but those of the autotuner's sessions, which may have several.
type kernelWriter struct {
	p     *parser
	lines launchtext.LineReader
	start chan bool // receives whether to write
	done  chan error

	k      *kernel
	infers bool           // the compilation is missing, and no launch was read yet
	state  *residentState // of the kernel
	own    residentState  // for an evicted kernel: computed again from its launches
	room   []byte         // memory for a chunk
	texts  []byte         // from the sorter, waiting to be written
	ends   []int          // of each of texts
	begun  bool           // texts are written as they come
	out    store.Part
}

func newKernelWriter(p *parser) *kernelWriter {
	w := &kernelWriter{p: p, start: make(chan bool), done: make(chan error, 1)}
	w.lines.In, w.lines.Known = p.interner, true
	go func() {
		for write := range w.start {
			var err error
			if write {
				err = w.write()
			}
			w.done <- err
		}
	}()
	return w
}

// begin prepares for a kernel, in the memory of the last one.
func (w *kernelWriter) begin(k *kernel) {
	w.own.clear()
	if w.k, w.state, w.infers = k, k.state, k.compiled == nil; w.state == nil {
		w.state = &w.own
	}
	w.texts, w.ends, w.begun = w.texts[:0], w.ends[:0], false
	w.out = store.Part{Spill: w.p.spill, Held: w.out.Held[:0]}
}

// gather reads the kernel's texts from the sorter. Up to 1 MiB of them is written later, while other kernels are read.
func (w *kernelWriter) gather(r *store.Reader) error {
	const most = 1 << 20
	return r.Each(w.k.number, func(text []byte) error {
		if w.begun {
			return w.take(text)
		}
		w.texts = append(w.texts, text...)
		w.ends = append(w.ends, len(w.texts))
		if len(w.texts) < most {
			return nil
		}
		return w.first()
	})
}

// write writes what is left to be written.
func (w *kernelWriter) write() error {
	if !w.begun {
		if err := w.first(); err != nil {
			return err
		}
	}
	return w.rest()
}

// first writes the compilation, the launches in chunks, and the texts that waited.
func (w *kernelWriter) first() error {
	w.begun = true
	if w.k.compiled != nil {
		w.out.Chunk(w.k.compiled)
	}
	for _, c := range w.k.chunks {
		if w.reads() {
			var err error
			if w.room, err = w.p.spill.Read(c, w.room); err == nil {
				err = w.read(w.room)
			}
			if err != nil {
				return err
			}
		}
		w.out.Chunk(c)
	}
	at := 0
	for _, end := range w.ends {
		if err := w.take(w.texts[at:end]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// take writes a text from the sorter.
func (w *kernelWriter) take(text []byte) error {
	if text[0] == work.SourceMark {
		w.state.source = work.ReadSource(text)
		return nil
	}
	err := w.read(text)
	w.out.LaunchLines(text)
	return err
}

// reads says whether launches must be read before they are written.
func (w *kernelWriter) reads() bool { return w.state == &w.own || w.infers }

// read infers the kernel's compilation, or computes its state, from launches.
func (w *kernelWriter) read(text []byte) error {
	if !w.reads() {
		return nil
	}
	q := w.p.options.quirks
	return w.lines.Each(text, func(l *launchtext.Launch, id int) bool {
		if w.infers {
			w.infers = false
			w.inferred(infer(l, q))
		}
		if w.state == &w.own {
			before, _ := slices.BinarySearch(w.p.compiled, id)
			w.state.add(w.p, w.k, l, id-before, id, w.k.hasWork)
		}
		return w.reads()
	})
}

// inferred writes the compilation of a kernel without a compilation record.
func (w *kernelWriter) inferred(i *inference) {
	w.out.Text(fmt.Appendf(i.line, "\"occurrence_id\":%d}\n", w.nextID()))
	w.k.parameters = i.parameters
	if w.k.shown {
		w.k.common = w.p.spill.AddLaunches(commonInfo(i.stack, nil))
	}
}

func (w *kernelWriter) nextID() int {
	w.k.firstID++
	return w.k.firstID - 1
}

// rest writes the launches that are in memory, and the events that follow them.
func (w *kernelWriter) rest() error {
	k, state := w.k, w.state
	if err := w.read(state.buffer); err != nil {
		return err
	}
	w.out.LaunchLines(state.buffer)
	if k.analysis != nil {
		w.out.Chunk(k.analysis)
	}
	if k.total == 0 {
		return nil
	}
	q := w.p.options.quirks
	if k.hasWork {
		if err := state.work.write(w.p.spill, w.out.Text, k, state.source, w.run(), q); err != nil {
			return err
		}
		w.out.Text(fmt.Appendf(nil, ",\"occurrence_id\":%d}\n", w.nextID()))
	}
	return w.launchDiff()
}

// run is the function that runs launches of the kernel; nil if none is run.
func (w *kernelWriter) run() func(launch []byte) (Ran, error) {
	if w.p.options.Run == nil || w.p.options.quirks.Has(quirks.StaticWork) {
		return nil
	}
	return func(launch []byte) (Ran, error) {
		compilation, err := w.p.spill.Read(w.k.compiled, nil)
		if err != nil {
			return Ran{}, err
		}
		return w.p.options.Run(compilation, launch)
	}
}

// launchDiff writes what is the same in all launches and what is not.
func (w *kernelWriter) launchDiff() error {
	k, state, spill, out := w.k, w.state, w.p.spill, w.out.Text
	diffs, sames := state.diff.result(w.p.options.quirks)
	out(fmt.Appendf(nil, `{"event_type":"launch_diff","hash":%s,"name":%s,"total_launches":%d,"launch_index_map":`, jsontext.Quote(k.hash), jsontext.Quote(k.name), k.total))
	if err := state.places.WriteJSON(spill, out); err != nil {
		return err
	}
	out([]byte(`,"diffs":`))
	if err := diffs.Write(spill, out); err != nil {
		return err
	}
	out([]byte(`,"sames":`))
	if err := sames.Write(spill, out); err != nil {
		return err
	}
	out(fmt.Appendf(nil, ",\"occurrence_id\":%d}\n", w.nextID()))
	return nil
}
