package tritonparse

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/shelf"
)

// outputs are the files of a rank. Each has three parts: kernels that are only launched, the others, and what the autotuner
// did.
type outputs struct {
	p     *parser
	files map[string]*gzipFile
	held  int // bytes of text that no chunk has, over all files
}

const (
	launchedOnly = iota
	compiledToo
	tunedPart
	partsOfFile
)

func (o *outputs) part(name string, i int) *part {
	f := o.files[name]
	if f == nil {
		f = &gzipFile{path: filepath.Join(o.p.folder, name)}
		for range partsOfFile {
			f.parts = append(f.parts, &part{spill: o.p.spill})
		}
		o.files[name] = f
	}
	return f.parts[i]
}

// add adds to a part of a file. Text waits there for more of it, for it packs better then, but not too much over all files.
func (o *outputs) add(name string, i int, q *part) {
	const most = 8 << 20
	p := o.part(name, i)
	o.held -= len(p.held)
	p.add(q)
	if o.held += len(p.held); o.held <= most {
		return
	}
	for _, f := range o.files {
		for _, p := range f.parts {
			p.flush()
		}
	}
	o.held = 0
}

// close writes the files and returns their names.
func (o *outputs) close() ([]string, error) {
	var names []string
	for name, f := range o.files {
		if err := f.close(o.p.spill); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// mappedName is the output of all that has no file of its own.
func (p *parser) mappedName() string {
	stem, _ := trimExtension(filepath.Base(p.bucket.Files[0]))
	return stem + "_mapped.ndjson.gz"
}

// output is the file that a kernel is written to.
func (p *parser) output(k *kernel) string {
	if k.file == "" {
		return p.mappedName()
	}
	return k.file
}

// writeAll writes kernel by kernel, then what the autotuner did.
func (p *parser) writeAll() ([]string, error) {
	p.sessions.inferred(p.order)
	p.sessions.showKernels(p)
	p.numberEvents()
	p.spill.wg.Wait()
	o := &outputs{p: p, files: map[string]*gzipFile{}}
	if err := p.writeKernels(o); err != nil {
		return nil, err
	}
	p.spill.wg.Wait()
	if err := p.writeAnalyses(o); err != nil {
		return nil, err
	}
	if err := p.spill.failed(); err != nil {
		return nil, err
	}
	return o.close()
}

// numberEvents gives ids to what is made of kernels: those that are only launched come first, as in tritonparse.
func (p *parser) numberEvents() {
	for _, part := range []int{launchedOnly, compiledToo} {
		for _, k := range p.order {
			if k.part() == part {
				k.firstID = p.ids
				p.ids += k.events()
			}
		}
	}
}

func (k *kernel) part() int {
	if k.compiled == nil {
		return launchedOnly
	}
	return compiledToo
}

// events is how many are made of the kernel.
func (k *kernel) events() int {
	n := 0
	if k.compiled == nil {
		n++ // the compilation
	}
	if k.total > 0 {
		n++ // launch_diff
	}
	if k.hasWork && k.total > 0 {
		n++ // roofline
	}
	return n
}

// writeKernels takes kernel by kernel from the shelf, and writes some at a time.
func (p *parser) writeKernels(o *outputs) error {
	r, err := p.shelf.Read()
	if err != nil {
		return err
	}
	var running []*kernelWriter // in their order
	finish := func() {
		w := running[0]
		running = running[1:]
		<-w.done
		if w.err != nil && err == nil {
			err = w.err
		}
		o.add(p.output(w.k), w.k.part(), &w.out)
		w.k.hand = nil
	}
	for _, k := range p.order {
		if len(running) > runtime.GOMAXPROCS(0) {
			finish()
		}
		w := p.newKernelWriter(k)
		running = append(running, w)
		if got := w.gather(r); err == nil {
			err = got
		}
		if err != nil {
			close(w.done)
			break
		}
		go w.finish()
	}
	for len(running) > 0 {
		finish()
	}
	return err
}

// kernelWriter writes all events of one kernel but those of the autotuner's sessions, which may have several.
type kernelWriter struct {
	p     *parser
	k     *kernel
	told  *hand      // what is known of it
	again *retelling // that finds it out; nil if the kernel is at hand

	begun bool     // texts of the shelf are written as they come
	texts [][]byte // else they wait
	waits int      // bytes of them
	out   part
	err   error
	done  chan struct{}
}

func (p *parser) newKernelWriter(k *kernel) *kernelWriter {
	w := &kernelWriter{p: p, k: k, told: k.hand, out: part{spill: p.spill}, done: make(chan struct{})}
	if w.told == nil {
		w.again = &retelling{reader: launchReader{in: p.interner}, compiled: p.compiled, compat: p.options.Compat, infer: k.compiled == nil}
		w.told = &w.again.told
	}
	return w
}

// gather takes the kernel's texts from the shelf. Unless they are very many they are written later, beside others.
func (w *kernelWriter) gather(r *shelf.Reader) error {
	const most = 1 << 20
	return r.Each(w.k.number, func(text []byte) error {
		if !w.begun {
			w.texts = append(w.texts, slices.Clone(text))
			if w.waits += len(text); w.waits < most {
				return nil
			}
			return w.begin()
		}
		return w.take(text)
	})
}

// finish writes what is left to be written.
func (w *kernelWriter) finish() {
	defer close(w.done)
	if !w.begun {
		w.err = w.begin()
	}
	if w.err == nil {
		w.end()
	}
}

// begin writes what comes first: the compilation, and launches that are in chunks.
func (w *kernelWriter) begin() error {
	w.begun = true
	if w.k.compiled != nil {
		w.out.chunk(w.k.compiled)
	} else if w.again == nil {
		w.inferred()
	}
	for _, c := range w.k.chunks {
		if w.again != nil {
			text, err := w.p.spill.read(c)
			if err == nil {
				err = w.tell(text)
			}
			if err != nil {
				return err
			}
		}
		w.out.chunk(c)
	}
	for _, text := range w.texts {
		if err := w.take(text); err != nil {
			return err
		}
	}
	w.texts = nil
	return nil
}

// take writes a text from the shelf.
func (w *kernelWriter) take(text []byte) error {
	if text[0] == workMark {
		w.told.source = readWorkSource(text)
		return nil
	}
	if err := w.tell(text); err != nil {
		return err
	}
	w.out.launchLines(text)
	return nil
}

// tell tells launches again, before they are written.
func (w *kernelWriter) tell(text []byte) error {
	first := w.again.infer
	err := w.again.launches(text)
	if first && err == nil {
		w.inferred()
	}
	return err
}

// inferred writes the compilation of a kernel that is only launched.
func (w *kernelWriter) inferred() {
	i := w.told.inferred
	w.out.text(fmt.Appendf(i.line, "\"occurrence_id\":%d}\n", w.nextID()))
	w.k.parameters = i.parameters
	if w.k.shown {
		w.k.common = w.p.spill.addLaunches(commonInfo(i.stack, nil))
	}
}

func (w *kernelWriter) nextID() int {
	w.k.firstID++
	return w.k.firstID - 1
}

// end writes what comes behind the launches.
func (w *kernelWriter) end() {
	k, told := w.k, w.told
	w.out.launchLines(told.buffer)
	if k.analysis != nil {
		w.out.chunk(k.analysis)
	}
	if k.total == 0 {
		return
	}
	compat := w.p.options.Compat
	if k.hasWork {
		told.work.write(&w.out, k, newWorkTemplate(*told.source, compat), compat)
		w.out.text(fmt.Appendf(nil, ",\"occurrence_id\":%d}\n", w.nextID()))
	}
	diffs, sames := told.diff.result(compat)
	line := fmt.Appendf(nil, `{"event_type":"launch_diff","hash":%s,"name":%s,"total_launches":%d,"launch_index_map":`, jsontext.Quote(k.hash), jsontext.Quote(k.name), k.total)
	line = told.places.appendJSON(line)
	line = append(line, `,"diffs":`...)
	line = diffs.appendJSON(line)
	line = append(line, `,"sames":`...)
	line = sames.appendJSON(line)
	w.out.text(fmt.Appendf(line, ",\"occurrence_id\":%d}\n", w.nextID()))
}
