// Package nearby knows the files next to a trace, machine code and contents of tensors, and copies them to where
// another trace has them. What cuts traces (excerpt) and takes them apart (extract) uses it.
package nearby

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/outfolder"
	"github.com/goproton/goproton/tritonparse"
)

// Folders of a trace's folder.
const (
	cubins  = "cubins"
	tensors = "saved_tensors"
)

// File is one that a record names.
type File struct {
	Name   string // where a trace looks for it, from its own folder, with slashes
	From   string // where it is now; "" if it is neither next to the trace nor in a folder that may be read
	Why    string // it is there and may not be read; "" otherwise
	Tensor bool   // contents of a tensor; else machine code
}

// Cubin is the machine code of a compilation; false if the record does not name a file next to the trace, as TritonParse's
// never do. A name that leads elsewhere is of a file that is not there.
func (s Sources) Cubin(c *tritonparse.Compilation) (File, bool) {
	if c.Extra == nil || c.Extra.Cubin == "" {
		return File{}, false
	}
	f := File{Name: path.Clean(filepath.ToSlash(c.Extra.Cubin))}
	if path.Dir(f.Name) == cubins && filepath.IsLocal(f.Name) {
		f.From, f.Why = s.Code(c)
	}
	return f, true
}

// Tensor is the contents of a tensor, of a launch in the file trace; false if they were not kept. Of names that lead
// elsewhere it is as of a cubin's.
func (s Sources) Tensor(trace string, b *tritonparse.Blob) (File, bool) {
	if b == nil || b.Path == "" {
		return File{}, false
	}
	f := File{Name: path.Join(tensors, filepath.ToSlash(b.Hash[:min(2, len(b.Hash))]), filepath.Base(b.Path)), Tensor: true}
	if strings.HasPrefix(f.Name, tensors+"/") && filepath.IsLocal(f.Name) {
		places := TensorPlaces(trace, b.Path)
		if f.From = s.Find(trace, Contents, places...); f.From == "" {
			if outside := s.Outside(trace, Contents, places...); outside != "" {
				f.Why = outsideText(outside)
			}
		}
	}
	return f, true
}

// IsIn says whether a folder has the file already. Files are named after what is in them, so the size tells.
func (f File) IsIn(folder string) bool {
	there, err := os.Stat(filepath.Join(folder, f.Name))
	if err != nil || !there.Mode().IsRegular() {
		return false
	}
	was, err := os.Stat(f.From)
	return err == nil && was.Size() == there.Size()
}

// CopyTo copies the file into a folder, unless it IsIn there, and returns its size. Another file of its name is replaced only
// if replace says so.
func (f File) CopyTo(folder string, replace bool) (size int64, err error) {
	to := filepath.Join(folder, f.Name)
	if f.IsIn(folder) {
		info, err := os.Stat(to)
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	if _, err := os.Lstat(to); !replace && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s is there already, and is another file; give --force to replace it", to)
	}
	out, err := outfolder.Open(folder)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	return out.Copy(f.Name, f.From)
}
