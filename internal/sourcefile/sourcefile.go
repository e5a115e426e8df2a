// Package sourcefile says which files are sources of GPU code. A profile and a debug section name files as they like, and
// profiles and reports are given to others: keys and settings, for example, are never read for their lines.
package sourcefile

import (
	"path/filepath"
	"slices"
	"strings"
)

// Largest is the size of the largest file that is read, in bytes: sources of kernels are smaller by far.
const Largest = 8 << 20

// extensions of what compilers for GPUs read.
var extensions = []string{
	".py", ".pyx", ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".cl", ".hip",
	".ptx", ".ll", ".mlir", ".ttir", ".ttgir", ".llir", ".rs", ".s", ".go", ".jl", ".mojo", ".f90", ".cuf",
}

// Is reports whether a path is that of a source, by its extension. Headers of C++ may have none.
func Is(file string) bool {
	extension := strings.ToLower(filepath.Ext(file))
	return slices.Contains(extensions, extension) || extension == "" && strings.Contains(file, "/include/")
}
