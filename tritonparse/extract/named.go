package extract

import (
	"bytes"
	"path/filepath"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// named is what a record says of files next to the trace.
type named struct {
	compilation *tritonparse.Compilation
	blobs       []*tritonparse.Blob
}

// namedBy reads which files a record names. Few launches name any, and searching their text is faster than parsing arguments.
func namedBy(path, kind string, rec ndjson.Record, members []jsontext.Member) (n named) {
	switch {
	case kind == "compilation":
		n.compilation = tritonparse.ReadCompilation(&tritonparse.Record{File: path, Line: rec.Index, Text: rec.Text})
	case kind == "launch" && bytes.Contains(rec.Text, []byte(`"blob_path"`)):
		for _, a := range tritonparse.ReadArguments(ndjson.Get(members, "extracted_args")) {
			if t := a.Tensor(); t != nil && t.Blob != nil && t.Blob.Path != "" {
				n.blobs = append(n.blobs, t.Blob)
			}
		}
	}
	return n
}

// nearbyFiles are the files next to a trace that its records name, each once.
type nearbyFiles struct {
	sources nearby.Sources
	all     []nearby.File
	byName  map[string]int  // in all
	tried   map[string]bool // names that were looked for, each behind the folder of its trace
}

// add looks for what a record in a file names. Launches name the same contents again and again; they are looked for once.
func (b *nearbyFiles) add(path string, n named) {
	if c := n.compilation; c != nil && c.Extra != nil && b.first(path, c.Extra.Cubin) {
		b.keep(b.sources.Cubin(c))
	}
	for _, blob := range n.blobs {
		if b.first(path, blob.Path) {
			b.keep(b.sources.Tensor(path, blob))
		}
	}
}

func (b *nearbyFiles) first(path, name string) bool {
	if b.tried == nil {
		b.tried, b.byName = map[string]bool{}, map[string]int{}
	}
	key := filepath.Dir(path) + "\x00" + name
	was := b.tried[key]
	b.tried[key] = true
	return !was
}

// keep adds a file, unless one of its name was found in another folder.
func (b *nearbyFiles) keep(f nearby.File, named bool) {
	if !named {
		return
	}
	i, known := b.byName[f.Name]
	switch {
	case !known:
		b.byName[f.Name] = len(b.all)
		b.all = append(b.all, f)
	case b.all[i].From == "":
		b.all[i] = f
	}
}
