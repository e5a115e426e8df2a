package vendors

import (
	"bufio"
	"io"
	"path/filepath"
	"sort"
	"strings"

	"github.com/goproton/goproton/internal/settings"
)

// Search describes the process for which a libcupti is searched.
type Search struct {
	Env          func(string) string // nil: no variable is set
	Maps         io.Reader           // /proc/<pid>/maps of the process, or nil
	SitePackages []string            // Python's package folders, in the order of sys.path
	Root         string              // put before every path; "" except in tests
}

// systemFolders are searched last. A toolkit's folder comes before the distribution's, because administrators keep the links in
// /usr/local/cuda up to date.
var systemFolders = []string{
	"/usr/local/cuda/extras/CUPTI/lib64",
	"/usr/local/cuda/lib64",
	"/usr/local/cuda/targets/x86_64-linux/lib",
	"/usr/local/cuda/targets/sbsa-linux/lib",
	"/opt/cuda/extras/CUPTI/lib64",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
}

// Candidates returns every libcupti that it finds, in the order of the search and each file once.
func (s Search) Candidates() []Candidate {
	var found collection
	s.addEnv(&found, settings.CUPTIPath.Name, FromProtonEnv)
	for _, path := range mapped(s.Maps) {
		found.add(Candidate{Path: path, Origin: FromProcess, Major: majorOf(path)})
	}
	s.addEnv(&found, settings.TritonCUPTI.Name, FromTritonEnv)
	for _, site := range s.SitePackages {
		// Wheels for CUDA 13 share one folder per major version; earlier ones have one folder per library.
		s.addGlob(&found, filepath.Join(site, "nvidia/cu[0-9]*/lib"), FromWheel)
		s.addGlob(&found, filepath.Join(site, "nvidia/cuda_cupti/lib"), FromWheel)
	}
	for _, site := range s.SitePackages {
		s.addGlob(&found, filepath.Join(site, "triton/backends/nvidia/lib/cupti*"), FromTriton)
	}
	for _, folder := range filepath.SplitList(s.env("LD_LIBRARY_PATH")) {
		s.addFolder(&found, folder, FromSystem)
	}
	for _, folder := range systemFolders {
		s.addFolder(&found, folder, FromSystem)
	}
	s.addGlob(&found, "/usr/local/cuda-[0-9]*/extras/CUPTI/lib64", FromSystem)
	return found.list
}

func (s Search) env(name string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(name)
}

// addEnv adds the file or folder that a variable names. If PROTON_CUPTI_PATH names none, it adds a candidate with the reason, so
// that the user learns of it.
func (s Search) addEnv(found *collection, variable string, origin Origin) {
	value := s.env(variable)
	if value == "" {
		return
	}
	if isRegular(s.Root + value) {
		found.add(Candidate{Path: s.Root + value, Origin: origin, Major: majorOf(s.Root + value)})
		return
	}
	before := len(found.list)
	s.addFolder(found, value, origin)
	if len(found.list) == before && origin == FromProtonEnv {
		found.add(Candidate{Path: value, Origin: origin, Reason: "there is no libcupti at this path"})
	}
}

func (s Search) addGlob(found *collection, pattern string, origin Origin) {
	folders, err := filepath.Glob(s.Root + pattern)
	if err != nil {
		return // a package folder has a bracket in its name: the pattern is invalid
	}
	if origin != FromTriton { // newer versions first, but cupti before cupti-blackwell
		sort.Sort(sort.Reverse(sort.StringSlice(folders)))
	}
	for _, folder := range folders {
		s.addFolder(found, strings.TrimPrefix(folder, s.Root), origin)
	}
}

// addFolder adds the libraries of one folder, the highest version first and each version once: several names of a version are a
// library and its links or, in wheels, which cannot have links, its copies.
func (s Search) addFolder(found *collection, folder string, origin Origin) {
	if folder == "" {
		return
	}
	paths, err := filepath.Glob(filepath.Join(s.Root+folder, "libcupti.so*"))
	if err != nil {
		return
	}
	sort.SliceStable(paths, func(i, j int) bool { return better(paths[i], paths[j]) })
	last := -1
	for _, path := range paths {
		major := majorOf(path)
		if !isLibrary(filepath.Base(path)) || !isRegular(path) || major == last || major == 0 && last > 0 {
			continue
		}
		found.add(Candidate{Path: path, Origin: origin, Major: major})
		last = major
	}
}

// better orders the names of one folder: higher CUDA version first, then the shorter name, which is the soname that other
// libraries ask the loader for.
func better(a, b string) bool {
	if x, y := nameMajor(filepath.Base(a)), nameMajor(filepath.Base(b)); x != y {
		return x > y
	}
	return len(a) < len(b)
}

// mapped returns the paths of libcuptis in a memory map.
func mapped(maps io.Reader) []string {
	if maps == nil {
		return nil
	}
	var paths []string
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		slash := strings.IndexByte(lines.Text(), '/')
		if slash < 0 {
			continue
		}
		path := lines.Text()[slash:]
		if isLibrary(filepath.Base(path)) && (len(paths) == 0 || paths[len(paths)-1] != path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// collection is a list of candidates with the first one of each file.
type collection struct {
	list []Candidate
	seen map[string]bool
}

func (c *collection) add(candidate Candidate) {
	key := candidate.Path
	if real, err := filepath.EvalSymlinks(key); err == nil {
		key = real
	}
	if c.seen[key] {
		return
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	c.seen[key] = true
	c.list = append(c.list, candidate)
}
