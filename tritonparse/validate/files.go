package validate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/tensor"
)

// blob returns what is wrong with the contents of a recorded tensor, "" if nothing is.
func (v *validator) blob(trace string, t *tritonparse.Argument) string {
	path := t.Blob.Find(trace)
	if path == "" {
		return fmt.Sprintf("was kept in %s, which does not exist, nor in saved_tensors next to the trace", t.Blob.Path)
	}
	return v.once(path, func() string { return v.tensor(path, t) })
}

func (v *validator) once(path string, check func() string) string {
	what, known := v.checked[path]
	if !known {
		what = check()
		v.checked[path] = what
	}
	return what
}

func (v *validator) tensor(path string, t *tritonparse.Argument) string {
	b := t.Blob
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	if b.Size > 0 && info.Size() != b.Size {
		return fmt.Sprintf("was kept in %d bytes, but %s has %d", b.Size, path, info.Size())
	}
	if v.options.Quick || b.Hash == "" {
		return ""
	}
	hash, err := tensor.Hash(path, tensor.Recorded{Size: b.Uncompressed, Elements: t.Bytes})
	if err != nil {
		return fmt.Sprintf("cannot be read: %s: %v", path, err)
	}
	if !strings.EqualFold(hash, b.Hash) {
		return fmt.Sprintf("has the hash %s…, but %s has %s…", brief(b.Hash)[:min(16, len(b.Hash))], path, hash[:16])
	}
	return ""
}

// cubin returns what is wrong with the machine code next to a trace of GoProton's. Parsing leaves it next to the raw trace.
func (v *validator) cubin(trace, name, image string, parsed bool) string {
	if name == "" {
		return ""
	}
	if !filepath.IsLocal(name) {
		return fmt.Sprintf("is %q, which is not in the folder of the trace", brief(name))
	}
	path := filepath.Join(filepath.Dir(trace), name)
	if _, err := os.Stat(filepath.Dir(path)); parsed && errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return v.once(path, func() string { return v.code(path, name, image) })
}

func (v *validator) code(path, name, image string) string {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("is %s, which does not exist", name)
	}
	if v.options.Quick || image == "" {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if hash := vendors.ImageName(text); hash != image {
		return fmt.Sprintf("is %s, whose hash is %s, not %s as goproton.image says", name, hash, image)
	}
	return ""
}
