package tritonparse

import (
	"path/filepath"
	"slices"
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
	p.hands, p.sessions.groups, p.line = nil, nil, nil // all is read
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
