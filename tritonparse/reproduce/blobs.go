package reproduce

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// blob is a file with the contents of a tensor.
type blob struct {
	name string // from the script
	file string // where it is now
	size int64
}

// mostEmbedded is how many bytes of tensors a script may contain.
const mostEmbedded = 1 << 20

// withBlobs rewrites the recorded JSON of an argument: it replaces paths of contents by paths relative to the script, and removes
// those of missing contents, so that the script uses random values.
func (w *work) withBlobs(name string, raw []byte) []byte {
	members, err := jsontext.Members(raw)
	if err != nil {
		return raw
	}
	return ndjson.Object(members, func(m jsontext.Member) []byte {
		switch {
		case m.Name == "blob_path":
			b, ok := w.findBlob(jsontext.Text(m.Value))
			if !ok {
				w.noteGone(name, jsontext.Text(m.Value))
				return nil
			}
			return jsontext.Quote(b.name)
		case len(m.Value) > 0 && m.Value[0] == '{':
			return w.withBlobs(name, m.Value)
		case m.Name == "items" || m.Name == "entries":
			return w.listWithBlobs(name, m.Value)
		}
		return m.Value
	})
}

// listWithBlobs does the same with the parts of an argument.
func (w *work) listWithBlobs(name string, raw []byte) []byte {
	return jsontext.AppendList(nil, jsontext.Elements(raw), func(out, each []byte) []byte {
		if len(each) > 0 && each[0] == '[' {
			return append(out, w.listWithBlobs(name, each)...)
		}
		return append(out, w.withBlobs(name, each)...)
	})
}

// findBlob looks for contents where the program wrote them, and next to the trace, which may have been moved.
func (w *work) findBlob(recorded string) (blob, bool) {
	places := append(nearby.TensorPlaces(w.launch.File, recorded), nearby.TensorPlaces(filepath.Join(w.trace.Source, "trace"), recorded)...)
	base := filepath.Base(places[0])
	if i := slices.IndexFunc(w.blobs, func(b blob) bool { return path.Base(b.name) == base }); i >= 0 {
		return w.blobs[i], true
	}
	file := w.sources().Find(w.launch.File, nearby.Contents, places...)
	info, err := os.Stat(file)
	if err != nil {
		return blob{}, false
	}
	b := blob{name: "saved_tensors/" + base, file: file, size: info.Size()}
	w.blobs = append(w.blobs, b)
	return b, true
}

// sources are the folders that files which the trace names are read from: those that the user names, and the whole trace's.
func (w *work) sources() nearby.Sources {
	s := nearby.Sources(w.FilesFrom)
	if info, err := os.Stat(w.trace.Source); err == nil && info.IsDir() {
		s = append(slices.Clone(s), w.trace.Source)
	}
	return s
}

// noteGone notes why the contents of a tensor are random.
func (w *work) noteGone(name, recorded string) {
	if outside := w.sources().Outside(w.launch.File, nearby.Contents, recorded); outside != "" {
		w.note("the contents of %s were not read: %s lies outside of the trace's folder; --files-from %s has them read", name, outside, filepath.Dir(outside))
		return
	}
	w.note("the contents of %s are gone: neither %s nor saved_tensors next to the trace has them", name, recorded)
}

// embedsBlobs reports whether the script contains the contents of tensors.
func (w *work) embedsBlobs() bool {
	total := int64(0)
	for _, b := range w.blobs {
		total += b.size
	}
	return w.Embed && total <= mostEmbedded
}

// writeBlobs puts the contents next to the script.
func (w *work) writeBlobs(out *nearby.Folder) error {
	if w.embedsBlobs() {
		return nil
	}
	for _, b := range w.blobs {
		to := filepath.Base(w.folder) + "/" + b.name
		if size, there := out.Size(to); there && size == b.size {
			continue // it is named after its contents
		}
		if _, err := out.Copy(to, b.file); err != nil {
			return err
		}
	}
	return nil
}

// embeddedBlobs is Python that puts the contents into the script.
func (w *work) embeddedBlobs() (string, error) {
	if !w.embedsBlobs() {
		if w.Embed && len(w.blobs) > 0 {
			w.note("the tensors' contents are next to the script, being too large to go into it")
		}
		return "", nil
	}
	var b strings.Builder
	for _, each := range w.blobs {
		data, err := os.ReadFile(each.file)
		if err != nil {
			return "", err
		}
		b.WriteString("_EMBEDDED_BLOBS[" + pythonQuote(each.name) + "] = \"" + base64.StdEncoding.EncodeToString(data) + "\"\n")
	}
	return b.String(), nil
}

// Expected is the contents of a tensor after the launch, as a later launch of the trace found it.
type Expected struct {
	Argument string `json:"argument"`
	Blob     string `json:"blob_path"`
	From     string `json:"from"`
}

// findExpected looks for what the launch wrote: the contents that the first later launch of the process recorded of the same
// tensor. They can be compared only if all tensors of this launch were recorded too.
func (w *work) findExpected() error {
	type wanted struct {
		name   string
		tensor *tritonparse.Argument
	}
	var want []wanted
	for i := range w.launch.Args {
		a := &w.launch.Args[i]
		if t := a.Tensor(); t != nil {
			if t.Blob == nil || t.Blob.Path == "" {
				return nil
			}
			want = append(want, wanted{a.Name, t})
		}
	}
	if len(want) == 0 {
		return nil
	}
	done := errors.New("found")
	err := w.trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		if l.File != w.launch.File || l.PID != w.launch.PID || l.Line <= w.launch.Line {
			return nil
		}
		want = slices.DeleteFunc(want, func(x wanted) bool {
			touched := false
			for _, a := range l.Args {
				t := a.Tensor()
				if t == nil || !overlap(x.tensor, t) {
					continue
				}
				touched = true
				if b, ok := w.contentsNow(x.tensor, t); ok {
					w.result.Expected = append(w.result.Expected, Expected{x.name, b.name, fmt.Sprintf("as %s, record %d, found it", l.Name, l.Line)})
					break
				}
			}
			return touched
		})
		if len(want) == 0 {
			return done
		}
		return nil
	})
	if err == done {
		return nil
	}
	return err
}

// contentsNow returns the contents of a tensor at a later launch, if they were recorded and have changed.
func (w *work) contentsNow(before, now *tritonparse.Argument) (blob, bool) {
	same := before.DataPtr == now.DataPtr && before.Dtype == now.Dtype && slices.Equal(before.Shape, now.Shape) && slices.Equal(before.Stride, now.Stride)
	if !same || now.Blob == nil || now.Blob.Path == "" || now.Blob.Hash == before.Blob.Hash {
		return blob{}, false
	}
	return w.findBlob(now.Blob.Path)
}

// overlap reports whether the memory of two tensors, with the gaps between their elements, has a byte in common.
func overlap(a, b *tritonparse.Argument) bool {
	return a.DataPtr < endOf(b) && b.DataPtr < endOf(a)
}
