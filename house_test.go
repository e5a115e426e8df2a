// Package goproton holds no code: its tests keep the rules of the house (docs/architecture.md).
package goproton

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

const module = "github.com/goproton/goproton"

type goPackage struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

// list asks the go command about packages.
func list(t *testing.T, environment []string, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Name,GoFiles,CgoFiles,Imports,Deps,Module"}, args...)...)
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", args, err, stderr.String())
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// inModule is a package's path within the module, "" for one that is not ours.
func inModule(importPath string) string {
	rest, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return ""
	}
	return rest
}

func below(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// TestNoServerInThePrograms: windows are sent and counters are served from outside of the profiled processes, whose library has no HTTP.
func TestNoServerInThePrograms(t *testing.T) {
	for _, p := range list(t, nil, "./cmd/libproton") {
		if slices.Contains(p.Deps, "net/http") {
			t.Error("libproton has net/http: what sends and serves belongs to the proton command")
		}
	}
}

// TestNounsStandAlone is the strictest arrow: the two packages that everything else shares.
func TestNounsStandAlone(t *testing.T) {
	for _, p := range list(t, nil, "./profile", "./gpu/record") {
		for _, dep := range p.Deps {
			if inModule(dep) != "" {
				t.Errorf("%s needs %s: the nouns import nothing of ours, so that a profile can be read without the collector", inModule(p.ImportPath), inModule(dep))
			}
		}
	}
}

// withoutCgo must build as static files, and must not reach C even where cgo is on.
var withoutCgo = []string{"./viewer/...", "./profile/...", "./tritonparse/...", "./cmd/proton"}

func TestCommandNeedsNoCgo(t *testing.T) {
	const why = "one static file that runs on any machine, also far from the GPU, is what the command and the viewer are"
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, append([]string{"-deps"}, withoutCgo...)...) {
		if inModule(p.ImportPath) != "" && len(p.CgoFiles) > 0 {
			t.Errorf("cmd/proton or viewer reaches %s, which has C: %s", inModule(p.ImportPath), why)
		}
	}
	cmd := exec.Command("go", append([]string{"build", "-o", t.TempDir() + string(filepath.Separator)}, withoutCgo...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("does not build with CGO_ENABLED=0: %s\n%s", why, out)
	}
}

// TestLibraryHasNoConverters: a workload's process writes three formats and reads none.
func TestLibraryHasNoConverters(t *testing.T) {
	for _, p := range list(t, nil, "./cmd/libproton") {
		for _, dep := range p.Deps {
			if below(inModule(dep), "profile/formats") || below(inModule(dep), "profile/pprofile") || dep == "github.com/google/pprof/profile" {
				t.Errorf("libproton.so links %s: the codecs of all formats are 2.3 MB in every process that is profiled", dep)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range list(t, nil, "./...") {
		var commented []string
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if isPackageComment(file) {
				commented = append(commented, name)
			}
		}
		if len(p.GoFiles)+len(p.CgoFiles) > 0 && len(commented) != 1 {
			t.Errorf("%s has package comments in %v, want one: a package says in one place what it is for, what goes in and what comes out", p.ImportPath, commented)
		}
	}
}

func isPackageComment(file *ast.File) bool {
	return file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != ""
}

// vendorRooms are where names of a vendor's library may appear, in addition to the C below them.
var vendorRooms = []struct {
	name  *regexp.Regexp
	rooms []string
}{
	{regexp.MustCompile(`^"?(CUpti_|CUPTI_|cupti[A-Z])\w*"?$`), []string{"cupti", "replay/fakecuda", "cmd/proton-probe", "bench"}},
	{regexp.MustCompile(`^"?(roctracer_|rocprofiler_)\w+"?$`), []string{"roctracer", "replay/fakehip"}},
}

// TestVendorNamesStayInTheirRooms looks at identifiers and at strings that are nothing but a name; comments
// and messages may say what a user will find in the vendor's manual.
func TestVendorNamesStayInTheirRooms(t *testing.T) {
	for _, path := range sources(t, ".go", ".c", ".h") {
		if path == "house_test.go" {
			continue
		}
		all := words(t, path)
		for _, v := range vendorRooms {
			if slices.ContainsFunc(v.rooms, func(r string) bool { return below(filepath.ToSlash(path), r) }) {
				continue
			}
			if i := slices.IndexFunc(all, v.name.MatchString); i >= 0 {
				t.Errorf("%s has %s: a vendor's spelling stays in %v, or every new version of its library is felt everywhere", path, all[i], v.rooms)
			}
		}
	}
}

// sharedRooms serve every vendor. vendorSpelling is what a vendor's product, library or file format is called.
var (
	sharedRooms = []string{"hotpath", "replay", "gpu/gpu.go", "gpu/tool.go", "gpu/record", "gpu/peaks/specs.go", "gpu/peaks/dtype.go", "gpu/peaks/roof.go", "internal/runinfo", "tritonparse/record", "tritonparse/nearby/resources.go",
		"profiler", "hooks", "profile", "viewer", "cmd/proton/internal"}
	vendorSpelling = regexp.MustCompile(`CUpti|cupti|cuda|CUDA|nvidia|NVIDIA|nvdisasm|cubin|\bsm_|hsaco|amdgcn|\bgfx|\bhip|HIP|AMD|\bamd|roctracer|rocprofiler|ROC[mM]|rocm|Radeon|Instinct`)
)

type spellingException struct {
	path, why string
	words     []string
}

// covers reports whether an exception is for a file.
func (e spellingException) covers(file string) bool {
	matches, _ := path.Match(e.path, file)
	return matches || below(file, e.path)
}

// vendorSpellingAllowed are the exceptions, by folder, file or pattern, each with its reason. Where words are given, only these are allowed.
var vendorSpellingAllowed = []spellingException{
	{"hotpath/inside/trace.go", "the costs of a record differ by vendor", []string{"costCUDA", "costHIP", `"hip"`}},
	{"hotpath/scratch/driver.c", "scopes inside kernels are lent memory by one vendor's driver", []string{`"libcuda.so.1"`}},
	{"hooks/torchmemory.c", "torch's library with the allocator of GPU memory has another name for each vendor", []string{`"/libc10_cuda.so"`, `"/libc10_hip.so"`}},
	{"hooks/tracevalue.c", "is_cuda is torch's attribute, which tensors on AMD GPUs have too", []string{`"is_cuda"`, "str_is_cuda", "cuda_devices"}},
	{"tritonparse/record/event.go", "traces have a cubin field and a cubins folder for the binaries of every vendor, which readers look for", []string{`"cubins"`, "`\",\"cubin\":\"cubins/`"}},
	{"tritonparse/record/launch.go", "TritonParse's note, for every vendor", []string{"`{\"_note\":\"argument extraction skipped during CUDA graph capture\"}`"}},
	{"profiler/conformance/fakecuda.go", "it drives one backend's fake driver through the conformance suite", nil},
	{"profiler/conformance/fakehip*.go", "the same of another", nil},
	{"profile/internal/lanes/writers.go", "categories and names of lanes in the traces of other programs, of every vendor", nil},
	{"profile/formats/recognise.go", "a file of one vendor's tool that users take for a trace", []string{`"rocprofiler-sdk-tool"`}},
	{"profile/chrometrace/makers.go", "it says how PyTorch's traces name the devices of each vendor", nil},
	{"profile/internal/profiletest", "samples of recorded devices, for tests", nil},
	{"viewer/kernels", "torch calls the graphs of every vendor CUDA graphs, and so does TritonParse's note", []string{`"CUDA graph"`,
		`"launches that a CUDA graph replays are distinguished by specialisation and grid alone: their arguments are not known while a graph is captured"`}},
	{"viewer/explain/rules.go", "stall reasons of a vendor, as profiles have them", []string{`"amd_waitcnt"`, `"amd_alu_dependency"`}},
	{"viewer/listing/listing.go", "the folder of a trace is called cubins, which readers look for",
		[]string{`"the trace has no machine code of it: cubins lie in cubins/ next to the traces of proton run --trace, or where they were compiled"`}},
	{"cmd/proton/internal/doctor/nvidia*.go", "they are the vendor's checks", nil},
	{"cmd/proton/internal/doctor/amd*.go", "they are the vendor's checks", nil},
	{"cmd/proton/internal/doctor/vendors.go", "it lists the vendors", []string{"nvidia", "amd"}},
	{"cmd/proton/internal/doctor/doctor.go", "fields of the report in JSON", []string{"`json:\"libcupti\"`", "`json:\"rocm,omitempty\"`", "ROCm"}},
	{"replay/fakecuda", "it stands in for one vendor's libraries", nil},
	{"replay/fakehip", "the same of another", nil},
	{"replay/host/replay.c", "it loads what stands in for one vendor's libraries", []string{"cupti", `"PROTON_CUPTI_PATH"`, `"libcuda.so.1"`, `"%.*slibcuda.so.1"`, `"CUDA_INJECTION64_PATH"`}},
	{"replay/nvidia.go", "it is the vendor's stub", nil},
	{"replay/amd.go", "it is the vendor's stub", nil},
	{"replay/vendors.go", "it lists the vendors", []string{"NVIDIA", "AMD", "nvidia", "amd"}},
	{"replay/capture.go", "captures that name no backend are from before there was a second one", []string{`"cupti"`}},
}

// TestSharedRoomsNameNoVendor looks at identifiers, string literals and file names of what is not a test.
func TestSharedRoomsNameNoVendor(t *testing.T) {
	used := map[string]bool{}
	for _, path := range sources(t, ".go", ".c", ".h", ".js") {
		slashed := filepath.ToSlash(path)
		if strings.HasSuffix(path, "_test.go") || strings.Contains(slashed, "/testdata/") ||
			!slices.ContainsFunc(sharedRooms, func(r string) bool { return below(slashed, r) }) {
			continue
		}
		for _, word := range append(words(t, path), filepath.Base(path)) {
			if !vendorSpelling.MatchString(word) {
				continue
			}
			i := slices.IndexFunc(vendorSpellingAllowed, func(e spellingException) bool {
				return e.covers(slashed) && (e.words == nil || slices.Contains(e.words, word))
			})
			if i < 0 {
				t.Errorf("%s has %s: the shared rooms serve every vendor; move it to the vendor's room, or list it above with the reason", path, word)
				continue
			}
			used[vendorSpellingAllowed[i].path] = true
		}
	}
	for _, e := range vendorSpellingAllowed {
		if !used[e.path] {
			t.Errorf("%s needs no exception from the vendor's spelling any more: remove it from the list", e.path)
		}
	}
}

// sources are the files of the repository, not those that were built or downloaded into its folder.
func sources(t *testing.T, suffixes ...string) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("this is not a git checkout, so its files are not known: %v", err)
	}
	var paths []string
	for _, path := range strings.Fields(string(out)) {
		if _, err := os.Stat(path); err == nil && slices.Contains(suffixes, filepath.Ext(path)) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		t.Fatalf("no %v files in the repository", suffixes)
	}
	return paths
}

// words are the identifiers and string literals of a source. Go's scanner reads C well enough for that.
func words(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile(path, files.Base(), len(text)), text, func(token.Position, string) {}, 0)
	for {
		_, kind, literal := s.Scan()
		switch kind {
		case token.EOF:
			return list
		case token.IDENT, token.STRING:
			list = append(list, literal)
		}
	}
}

// TestDependencies keeps what ends up in the product on a list that was reviewed.
func TestDependencies(t *testing.T) {
	var have []string
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, "-deps", "./cmd/proton", "./cmd/libproton") {
		if p.Module != nil && p.Module.Path != module && !slices.Contains(have, p.Module.Path) {
			have = append(have, p.Module.Path)
		}
	}
	slices.Sort(have)
	testkit.Golden(t, "testdata/dependencies.txt", strings.Join(have, "\n")+"\n")
	if t.Failed() {
		t.Log("Every dependency is code that users trust us with: if it is worth that, run go test . -update and say why in the commit")
	}
}
