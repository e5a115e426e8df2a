package foreign

import (
	"path/filepath"
	"slices"
	"strings"
)

// LargestSource is the size of the largest file that is read, in bytes: sources of kernels are smaller by far.
const LargestSource = 8 << 20

// extensions of what compilers for GPUs read.
var extensions = []string{
	".py", ".pyx", ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".cl", ".hip",
	".ptx", ".ll", ".mlir", ".ttir", ".ttgir", ".llir", ".rs", ".s", ".go", ".jl", ".mojo", ".f90", ".cuf",
}

// IsSource reports whether a path is that of a source, by its extension. Headers of C++ may have none.
func IsSource(file string) bool {
	extension := strings.ToLower(filepath.Ext(file))
	return slices.Contains(extensions, extension) || extension == "" && strings.Contains(file, "/include/")
}
