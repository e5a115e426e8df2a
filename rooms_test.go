package goproton

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// room is a package, or several on one step that belong together. Its floor and step are one number, 42 is the second step of floor
// 4, and imports and C includes point to smaller numbers only. A folder that no room names belongs to the nearest room above it.
type room struct {
	number int
	paths  string // of the folders, separated by spaces
	holds  string // what lives there
}

// floors are the titles of the floors, and of which verb each is: collect, attribute, aggregate, store, view.
var floors = []struct{ name, holds string }{
	1: {"texts, files, processes, tests", "nothing of the product's verbs; Triton's representations as text"},
	2: {"the noun", "one profile, its formats and its sums: store"},
	3: {"parts", "of collecting, of storing elsewhere, and the facts about GPUs"},
	4: {"engines", "sessions and trees (attribute, aggregate), TritonParse traces, the program's Python, findings of the interpreter"},
	5: {"vendors, views, interpreter", "collect and view"},
	6: {"stand-ins", "for a GPU and for a user's program"},
	7: {"programs", ""},
}

var rooms = []room{
	{70, "cmd/proton/internal/run cmd/proton/internal/doctor", "`proton run` outside of the workload: environment, signals, closing lines; `proton doctor`: what is missing on a machine"},
	{71, "cmd/proton/internal/interpret cmd/proton/internal/agent", "`proton interpret` outside of the program: saved launches, sums over processes, closing lines; `proton mcp`: commands as tools for agents"},
	{72, "cmd/proton", "the command: flags of each subcommand, and what they set going; no cgo"},
	{72, "cmd/libproton", "the library inside the workload: entry points, and which room answers a control call; `preload` loads it into programs that link HIP"},
	{72, "cmd/proton-probe", "a program in C through which `proton doctor` examines the driver"},

	{60, "replay/player", "in C: hands the events of a recording to the fake libraries in order"},
	{61, "replay/fakecuda", "a libcuda and a libcupti that play a recording, or do what a test asks"},
	{61, "replay/fakehip", "the same of HIP, roctracer and rocprofiler-sdk"},
	{61, "replay/host", "the program in C that stands in for the recorded one"},
	{62, "replay", "reads recordings of runs; the environment in which a program or `replay/host` runs without a GPU"},
	{61, "tutorials tutorials/go", "small programs, what each shows, and its recorded output"},
	{61, "bench bench/soak tools", "measurements; a profiled program that runs for hours; scripts, and programs for tests"},

	{50, "cupti", "NVIDIA: libcupti at run time, its callbacks, records and samples; registers its backend; `testdata/abi`: tests against the vendor's headers"},
	{50, "roctracer", "AMD: rocprofiler-sdk (`sdk*.c`) or roctracer (`legacy.c`) at run time; registers its backends; `testdata/abi` as above"},
	{50, "viewer/internal/grid viewer/compat viewer/pprofui", "columns of text that fit a width; the text of upstream's proton-viewer; pprof's driver for any profile"},
	{50, "interpreter", "runs kernels of `triton/ttir` on the CPU: values, memory, counts by line"},
	{54, "interpreter/run", "a run of the interpreter: settings, launches of a program and saved ones, what they did"},
	{52, "interpreter/dap", "the debugger for editors: the Debug Adapter Protocol; `vscode`: the extension's package.json"},
	{51, "interpreter/debug", "stops kernels at lines of their source: frames, variables, expressions, tables, commands"},
	{51, "interpreter/compare", "two texts of a kernel, or one with and without rounding: which variable differs first, how exact each line is"},
	{51, "interpreter/fromtrace interpreter/counts", "launches of a trace as the interpreter takes them; what interpreted launches did, added up by kernel and line, and as a profile: bytes and flops below kernels"},
	{51, "viewer", "a profile as rows and columns: metrics, units, roofline, filters, groupings, views"},
	{52, "viewer/kernels", "the facts about kernels in a profile and in the trace of its run: samples and lines, in every representation"},
	{52, "viewer/collectives viewer/compare viewer/fleet viewer/idle", "waiting between ranks; two profiles or more, call path by call path; tables over many profiles, and over the sources of a merged one; when GPUs had no work, and why"},
	{53, "viewer/gate viewer/inside viewer/explain", "a verdict for CI; scopes inside kernels; why a program is slow, by rules over what the others compute"},
	{54, "viewer/listing", "what `viewer/kernels` collects, printed"},
	{55, "viewer/report", "one page for the browser, with its scripts and styles in `web`, and static pictures"},

	{40, "profiler/budget profiler/callpath", "how much is recorded within a budget; launches that wait for their kernels, and values that graphs read from tensors"},
	{41, "profiler/aggregate", "kernels, copies, metrics and samples into a tree or a timeline for each session and phase"},
	{42, "profiler", "sessions, phases, the drainer, the Go API; the interfaces `Source`, `Sampler` and `Sink`"},
	{43, "profiler/control", "the profiler for other languages: names of methods and JSON in, JSON out"},
	{44, "profiler/conformance", "one table of behaviours for which every backend is tested, and a synthetic vendor"},
	{40, "hooks", "the code inside the workload's Python: the package `goproton` and its extension module in C"},
	{40, "tritonparse/internal/ndjson tritonparse/internal/quirks tritonparse/internal/store tritonparse/internal/tensor", "parts of a trace: records, their members and the names of their files, what the peer does differently, sorted and compressed texts, contents of tensors"},
	{40, "interpreter/check", "the checks of interpreted kernels: names, findings as text, JSON and SARIF, and the shadow of memory that finds races"},
	{41, "tritonparse/internal/work tritonparse/sourcemap", "flops and bytes of a launch, counted in its TTIR; lines of Python to lines of IR"},
	{42, "tritonparse/backend tritonparse/internal/launchtext", "stages and analyses of a compiler; launches as differences from earlier ones"},
	{43, "tritonparse", "reads traces, raw and parsed: compilations, launches, kinds of launches"},
	{44, "tritonparse/record", "writes the trace of a running program, and completes that of one that died"},
	{44, "tritonparse/nearby tritonparse/parse tritonparse/validate", "the files next to a trace, the folder that a command fills, registers and occupancy of a kernel by its machine code; what TritonParse's website opens; a trace's errors"},
	{45, "tritonparse/compare tritonparse/extract tritonparse/reproduce", "two traces; a trace's parts as files, and as a smaller trace; one launch as a script"},

	{30, "hotpath", "the C on the program's threads: open scopes, call paths, a ring for each thread; C's environment; `hotpath.h` is for programs, `vendor.h` for vendors"},
	{30, "hotpath/inside", "scopes inside kernels: their records decoded and summed"},
	{32, "hotpath/hotpathtest", "calls these in tests"},
	{31, "hotpath/scratch hotpath/recorder", "lends GPU memory to kernels with scopes, and copies their records out without waiting; records what a vendor's library does, for replays"},
	{30, "export/parquet export/exporttest", "Parquet files; readers and servers for tests"},
	{30, "export/spool", "windows that wait in a folder until they are sent"},
	{31, "export/counters", "the work of one window; sums of windows by GPU and outermost scope"},
	{32, "export/prometheus", "serves these sums, outside of the profiled process"},
	{33, "export/push", "sends windows to Pyroscope, Parca or a collector, or puts them into a folder"},
	{30, "gpu", "what is asked of a binary for the GPU, whatever its format: functions, frames, text of instructions"},
	{30, "gpu/record gpu/counters", "what a vendor reports of finished work: activities and samples; hardware counters: figures, the metrics that they are computed from, sets"},
	{31, "gpu/cubin gpu/hsaco", "NVIDIA's binaries and the text of their instructions; AMD's binaries"},
	{33, "gpu/vendors", "the facts about each vendor that need none of its libraries; where these libraries lie; how many blocks a multiprocessor holds"},
	{34, "gpu/peaks gpu/vendortest", "the peaks of each GPU, by what datasheets say; a made-up vendor, for tests"},

	{20, "profile", "a frozen tree with metrics and devices, and timelines; imports nothing of ours"},
	{21, "profile/internal/jsonscan profile/internal/lanes profile/internal/profiletest profile/internal/tree profile/internal/union", "parts of the formats: JSON as a stream, timelines, trees; sums of launches and samples, and one frame for equal call paths; call stacks; profiles for tests"},
	{22, "profile/merge profile/perfetto", "sums of profiles; Perfetto's timelines"},
	{23, "profile/chrometrace profile/hatchet profile/msgpack", "a format each"},
	{24, "profile/collapsed profile/pprofile profile/speedscope", "a format each"},
	{25, "profile/formats", "reads and writes all of them"},

	{10, "triton/mlir", "the text of MLIR: operations, regions and locations, of any dialect"},
	{11, "triton/ttir", "the operations of Triton's first representation: typed, verified, printed"},
	{11, "triton/scopes", "records put into the text of a kernel, for scopes inside kernels"},
	{10, "internal/ownfile internal/procstat", "files that are replaced in one step, and descriptors that the program may close; processes: parents, beginnings, waiting, free memory"},
	{10, "internal/figures internal/foreign internal/jsontext internal/version internal/inflate internal/lookup", "numbers for people; names of others; JSON as text; this release; unpacking within bounds; kernels by their names, the names that a wrong one was meant as, and elements of lists by their keys"},
	{10, "internal/settings internal/testkit", "environment variables, and programs in Python's folders; goldens, traces and waiting, for tests"},
	{11, "internal/ctl internal/term internal/when", "the socket of `proton ctl`; the terminal; when a session records"},
	{12, "internal/runinfo", "what `proton run` and the profiled processes tell each other, and names of profiles, by rank and size of a job"},
}

const whyDown = "imports and includes point to smaller numbers only (rooms_test.go), so that a room can be read, tested and replaced without those above it"

// numberOf returns the number of the room that a folder belongs to: the nearest one that is the folder or above it.
func numberOf(folder string) (number int, of string) {
	for _, r := range rooms {
		for p := range strings.FieldsSeq(r.paths) {
			if below(folder, p) && len(p) > len(of) {
				number, of = r.number, p
			}
		}
	}
	return number, of
}

// pointDown complains about an import or include from one folder to another that does not point down.
func pointDown(t *testing.T, from, to, what string) {
	t.Helper()
	n, room := numberOf(from)
	m, other := numberOf(to)
	switch {
	case room == "" || other == "":
		t.Errorf("%s: %s or %s is in no room: add a row to the table in rooms_test.go", what, from, to)
	case room != other && m >= n:
		t.Errorf("%s: %s is %d and %s is %d: %s", what, room, n, other, m, whyDown)
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range list(t, nil, "./...") {
		from := inModule(p.ImportPath)
		for _, imported := range p.Imports {
			if to := inModule(imported); from != "" && to != "" {
				pointDown(t, from, to, from+" imports "+to)
			}
		}
	}
}

// TestIncludesPointDown resolves an include next to its file, and otherwise, as with -I, by its name.
func TestIncludesPointDown(t *testing.T) {
	headers, named := map[string]bool{}, map[string][]string{}
	files := sources(t, ".c", ".h", ".go")
	for _, file := range files {
		headers[filepath.ToSlash(file)] = true
		named[path.Base(file)] = append(named[path.Base(file)], path.Dir(filepath.ToSlash(file)))
	}
	include := regexp.MustCompile(`(?m)^#include "([^"]+)"`)
	found := 0
	for _, file := range files {
		folder := path.Dir(filepath.ToSlash(file))
		if strings.Contains(folder, "testdata") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range include.FindAllStringSubmatch(testkit.Read(t, file), -1) {
			to := named[path.Base(m[1])]
			if next := path.Join(folder, m[1]); headers[next] {
				to = []string{path.Dir(next)}
			}
			if len(to) > 1 {
				t.Errorf("%s includes %q, which is in %v: headers that other rooms include have names of their own", file, m[1], to)
			}
			if len(to) == 1 {
				found++
				pointDown(t, folder, to[0], file+" includes "+m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d includes were found", found)
	}
}

// TestEveryFolderHasARoom: each folder with code of the product is in the table itself. Folders below testdata, and those that only hold
// what a room alone needs, belong to the room.
func TestEveryFolderHasARoom(t *testing.T) {
	own := regexp.MustCompile(`(^|/)(testdata|_runtime)(/|$)|^(hooks|bench|tools|tutorials|cmd/libproton|cupti|roctracer)/`)
	for _, file := range sources(t, ".go", ".c") {
		folder := path.Dir(filepath.ToSlash(file))
		if _, of := numberOf(folder); of != folder && folder != "." && !own.MatchString(folder) {
			t.Errorf("%s is in no room: add a row to the table in rooms_test.go that says what lives there", folder)
		}
	}
	for _, r := range rooms {
		for p := range strings.FieldsSeq(r.paths) {
			if _, err := os.Stat(p); err != nil {
				t.Errorf("the table in rooms_test.go has %s: %v", p, err)
			}
		}
	}
}

// TestMap writes the map of docs/architecture.md.
func TestMap(t *testing.T) {
	var b strings.Builder
	for floor := len(floors) - 1; floor > 0; floor-- {
		fmt.Fprintf(&b, "| **%d** | **%s** | %s |\n", floor, floors[floor].name, floors[floor].holds)
		for _, r := range rooms {
			if r.number/10 == floor {
				fmt.Fprintf(&b, "| %d.%d | `%s` | %s |\n", floor, r.number%10, strings.Join(strings.Fields(r.paths), "`, `"), r.holds)
			}
		}
	}
	testkit.Between(t, "docs/architecture.md", "<!-- rooms: written by go test . -update -->\n| floor | room | what lives there |\n|---|---|---|\n", "<!-- end of rooms -->", b.String())
}
