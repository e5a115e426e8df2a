package vendors

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/goproton/goproton/internal/settings"
)

// Origin says how a candidate was found. The order of the constants is the order of the search.
type Origin int

// The places that are searched.
const (
	FromProtonEnv Origin = iota // PROTON_CUPTI_PATH
	FromProcess                 // mapped into the process already
	FromTritonEnv               // TRITON_CUPTI_LIB_PATH
	FromWheel                   // nvidia-cuda-cupti's wheel, as torch requires it
	FromTriton                  // bundled with Triton
	FromSystem                  // LD_LIBRARY_PATH, a CUDA toolkit, the system's folders
)

var originNames = [...]string{
	FromProtonEnv: settings.CUPTIPath.Name,
	FromProcess:   "already loaded",
	FromTritonEnv: settings.TritonCUPTI.Name,
	FromWheel:     "Python wheel",
	FromTriton:    "bundled with Triton",
	FromSystem:    "system",
}

func (o Origin) String() string { return originNames[o] }

// Candidate is one libcupti.
type Candidate struct {
	Path   string // absolute, as found; symbolic links are not resolved
	Origin Origin
	Major  int    // CUDA's major version, from the file's name; 0 if the name does not have it
	Reason string // why it cannot be used; "" for no reason
}

var (
	sonameVersion  = regexp.MustCompile(`^libcupti\.so\.(\d{2})(\.\d+)*$`)
	releaseVersion = regexp.MustCompile(`^libcupti\.so\.(20\d\d)\.(\d+)(\.\d+)*$`)
)

// majorOf finds CUDA's major version by a file's name: libcupti.so.12 has it, libcupti.so.2025.1.0 has the release of CUPTI, and
// libcupti.so is a link to one of these.
func majorOf(path string) int {
	if m := nameMajor(filepath.Base(path)); m != 0 {
		return m
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return nameMajor(filepath.Base(target))
	}
	return 0
}

func nameMajor(name string) int {
	if m := sonameVersion.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	m := releaseVersion.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	year, _ := strconv.Atoi(m[1])
	release, _ := strconv.Atoi(m[2])
	switch { // 2022.3 came with CUDA 11.8, 2022.4 with 12.0, 2025.3 with 13.0
	case year*10+release < 20224:
		return 11
	case year*10+release < 20253:
		return 12
	default:
		return 13
	}
}

// isLibrary reports whether a file's name is one of libcupti. The same folders have files such as libcupti_static.a, and libraries
// of samples.
func isLibrary(name string) bool {
	return name == "libcupti.so" || nameMajor(name) != 0
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
