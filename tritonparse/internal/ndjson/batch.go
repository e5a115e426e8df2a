package ndjson

import (
	"bytes"
	"io/fs"
	"os"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
)

// Batch is many records at a time. Their texts are in one slice, which is used again when the batch is filled again.
type Batch struct {
	Records []Record
	text    []byte
	ends    []int32
}

// Fill reads records until they take up size bytes or a little more, and returns the error that ended it, as Next does.
// Lines are copied once, all that the decoder has ready in one go.
func (r *Reader) Fill(b *Batch, size int) error {
	b.Records, b.text, b.ends = b.Records[:0], b.text[:0], b.ends[:0]
	if b.text == nil {
		b.text = make([]byte, 0, size+r.lines.Size())
	}
	var err error
	for err == nil && len(b.text) < size {
		if r.piece != nil && len(r.line) == 0 && !r.skip && r.ready(b) {
			continue
		}
		var rec Record
		if rec, err = r.Next(); err == nil {
			b.text = append(b.text, rec.Text...)
			b.add(rec)
		}
	}
	from := 0
	for i, end := range b.ends {
		// The text has moved while it grew.
		text := b.text[from:end]
		b.Records[i].Text = text[:len(text):len(text)]
		from = int(end)
	}
	return err
}

// Size is how many bytes the batch keeps for its texts.
func (b *Batch) Size() int { return cap(b.text) }

func (b *Batch) add(rec Record) {
	rec.Text = nil
	b.Records = append(b.Records, rec)
	b.ends = append(b.ends, int32(len(b.text)))
}

// ready adds the whole lines that are in the buffer, which it fills before; false if Next has to look.
func (r *Reader) ready(b *Batch) bool {
	text, _ := r.lines.Peek(r.lines.Buffered())
	end := bytes.LastIndexByte(text, '\n') + 1
	if end == 0 {
		if len(text) == r.lines.Size() {
			return false
		}
		more, _ := r.lines.Peek(len(text) + 1)
		if len(more) <= len(text) {
			return false // an end or an error: Next meets it again
		}
		text, _ = r.lines.Peek(r.lines.Buffered())
		if end = bytes.LastIndexByte(text, '\n') + 1; end == 0 {
			return false
		}
	}
	for from := 0; from < end; {
		n := bytes.IndexByte(text[from:], '\n') + 1
		line := bytes.TrimSpace(text[from : from+n])
		r.number++
		if len(line) > 0 {
			rec := Record{Line: r.number, Index: r.index, Offset: r.piece.start}
			if r.piece.plain {
				rec.Offset = r.piece.offset + int64(from)
			}
			r.index++
			b.text = append(b.text, line...)
			b.add(rec)
		}
		from += n
	}
	if r.piece.plain {
		r.piece.offset += int64(end)
	}
	_, _ = r.lines.Discard(end) // it is there
	return true
}

// IsFile is true for links to files too: folders of links are how large traces are put together.
func IsFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// extensions of raw traces, longest first; the first bytes say how a file is compressed.
var extensions = []string{".bin.ndjson", ".ndjson"}

// TrimExtension cuts what follows the name proper, and says whether it is that of a trace.
func TrimExtension(name string) (string, bool) {
	name = inflate.Unpacked(name)
	for _, e := range extensions {
		if stem, ok := strings.CutSuffix(name, e); ok {
			return stem, true
		}
	}
	return name, false
}
