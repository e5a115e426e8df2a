package foreign

import (
	"os"
	"path/filepath"
)

// MayShow says whether a file that a profile names may be read to be shown: it is a source file, by its own name and by that
// of the file behind its links. A file that is not there may be shown.
func MayShow(path string) bool {
	if !IsSource(path) {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return os.IsNotExist(err)
	}
	info, err := os.Lstat(real)
	return err == nil && info.Mode().IsRegular() && IsSource(real)
}
