package parse

import (
	"path/filepath"
	"slices"

	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// outputs are the files of a rank. Each has three parts: kernels that are only launched, the others, and what the autotuner
// did.
type outputs struct {
	p     *parser
	files map[string]*store.GzipFile
	held  int // bytes of text that no chunk has, over all files
}

const (
	launchedOnly = iota
	compiledToo
	tunedPart
	partsOfFile
)

func (o *outputs) part(name string, i int) *store.Part {
	f := o.files[name]
	if f == nil {
		f = &store.GzipFile{Path: filepath.Join(o.p.folder, name)}
		for range partsOfFile {
			f.Parts = append(f.Parts, &store.Part{Spill: o.p.spill})
		}
		o.files[name] = f
	}
	return f.Parts[i]
}

// add adds to a part of a file. Text waits there for more, since it packs better then, up to 8 MiB over all files.
func (o *outputs) add(name string, i int, q *store.Part) {
	const most = 8 << 20
	p := o.part(name, i)
	o.held -= len(p.Held)
	p.Add(q)
	if o.held += len(p.Held); o.held <= most {
		return
	}
	for _, f := range o.files {
		for _, p := range f.Parts {
			p.Flush()
		}
	}
	o.held = 0
}

// close writes the files and returns their names.
func (o *outputs) close() ([]string, error) {
	var names []string
	for name, f := range o.files {
		if err := f.Close(o.p.spill); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// mappedName is the output file of a rank.
func (p *parser) mappedName() string {
	stem, _ := ndjson.TrimExtension(filepath.Base(p.bucket.Files[0]))
	return stem + "_mapped.ndjson.gz"
}

// output is the file that a kernel is written to.
func (p *parser) output(k *kernel) string {
	if k.file == "" {
		return p.mappedName()
	}
	return k.file
}

// writeAll writes the kernels, then the autotuner's sessions.
func (p *parser) writeAll() ([]string, error) {
	p.spareStates, p.sites.groups, p.line = nil, nil, nil // all is read
	p.sites.inferred(p.order)
	if err := p.sites.end(p.kernels); err != nil {
		return nil, err
	}
	p.sites.showKernels(p)
	p.numberEvents()
	p.spill.Wg.Wait()
	o := &outputs{p: p, files: map[string]*store.GzipFile{}}
	if err := p.writeKernels(o); err != nil {
		return nil, err
	}
	p.sorter.Close()
	p.spill.Wg.Wait()
	if err := p.writeAnalyses(o); err != nil {
		return nil, err
	}
	if err := p.spill.Failed(); err != nil {
		return nil, err
	}
	return o.close()
}

// numberEvents gives ids to the events of kernels. As in tritonparse, kernels without a compilation record come first.
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

// events is how many events parsing makes for the kernel.
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
