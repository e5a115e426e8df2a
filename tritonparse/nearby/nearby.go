// Package nearby finds the files that a trace names, machine code and contents of tensors, and copies them to the places where
// another trace looks for them. Folder is the folder that a command fills: its files appear when they are whole, and no link leads out of it.
package nearby

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

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
	Why    string // why a file that exists may not be read; "" otherwise
	Tensor bool   // contents of a tensor; else machine code
}

// Cubin returns the file with the machine code of a compilation, and false if the record names none, as in TritonParse's traces.
// If the name leads out of the trace's folder, the file counts as missing.
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

// Tensor returns the file with the contents of a tensor of a launch in the file trace, and false if they were not recorded. If the
// name leads out of the trace's folder, the file counts as missing.
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

// IsIn reports whether a folder has the file already. Files are named after their contents, so it compares sizes only.
func (f File) IsIn(folder string) bool {
	there, err := os.Stat(filepath.Join(folder, f.Name))
	if err != nil || !there.Mode().IsRegular() {
		return false
	}
	was, err := os.Stat(f.From)
	return err == nil && was.Size() == there.Size()
}

// CopyTo copies the file into a folder, unless it IsIn there, and returns its size. It replaces another file of that name only
// if replace is set.
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
	out, err := Open(folder)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	return out.Copy(f.Name, f.From)
}
