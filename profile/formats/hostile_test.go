package formats

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestNotProfiles reads files that users open by mistake. The error says what each is and what to do instead.
func TestNotProfiles(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"nothing":             {"", "byte 0: the file is empty"},
		"a library":           {"\x7fELF\x02\x01\x01\x00", "run it under proton run"},
		"a cubin":             {"\x7fELF\x02\x01\x01\x33\x07" + strings.Repeat("\x00", 7) + "\x02\x00\xbe\x00", "code for a GPU, as a compiler made it (ELF); give the profile"},
		"an hsaco":            {"\x7fELF\x02\x01\x01\x40\x03" + strings.Repeat("\x00", 7) + "\x03\x00\xe0\x00", "code for a GPU"},
		"perf script":         {"python 123 [000] 1.5:          1 cpu-clock:pppH: \n\t    ffffffff81 main+0x1 (/bin/x)\n", "stackcollapse-perf.pl"},
		"nsys stats":          {"Time (%),Total Time (ns),Instances,Name\n50.0,100,1,\"k(int, float)\"\n", "a table (CSV)"},
		"rocprofv3's CSV":     {"\"Kind\",\"Agent_Id\",\"Kernel_Name\"\n\"KERNEL_DISPATCH\",1,\"k(int)\"\n", "a table (CSV)"},
		"samply":              {`{"meta":{"version":27},"libs":[],"shared":{}}`, "profiler.firefox.com"},
		"pyinstrument":        {`{"session":{"start_time":1},"frame_tree":{}}`, "pyinstrument -r speedscope"},
		"Chakra":              {`{"schema":"1.1.1-chakra.0.0.4","pid":1,"nodes":[]}`, "torch.profiler"},
		"a screenshot":        {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a picture (PNG)"},
		"a login page":        {"\n<!DOCTYPE html><html><title>Sign in</title>", "it may be an error page"},
		"an nsys export":      {"SQLite format 3\x00\x10\x00", "reports of Nsight hold no call paths"},
		"UTF-16 backwards":    {"\xfe\xff\x00[\x00{", "iconv"},
		"UTF-16, no mark":     {"[\x00{\x00}\x00]\x00", "UTF-16"},
		"a snapshot":          {"\x80\x04\x95\x00", "a Python pickle"},
		"old pprof's heap":    {"heap profile:  1: 2 [ 3: 4] @ heapz/1\n", "go tool pprof -proto"},
		"old pprof's CPU":     {"\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00", "go tool pprof -proto"},
		"an archive":          {strings.Repeat("a", 257) + "ustar\x0000", "tar xf"},
		"JAX's own":           {"\x0a\x0d\x08\x01\x12\x09/host:CPU", "create_perfetto_trace"},
		"rocprofv3's JSON":    {`{"rocprofiler-sdk-tool":[{"metadata":{}}]}`, "--output-format pftrace"},
		"JSON lines":          {`{"level":"info","n":1}` + "\n" + `{"level":"warn"}`, "JSON lines"},
		"a TritonParse trace": {`{"event_type":"compilation"}`, "proton trace info"},
		"another JSON":        {`{"name":"x","values":[1,{"ph":2}]}`, `no key that a profile has (the first are "name", "values"); proton reads hatchet`},
		"a cut JSON":          {`{"name":"x","values":[1`, "the file is cut off: the file is JSON, with no key"},
		"a checkpoint":        {"PK\x03\x04\x00\x00\x08\x08", "torch.save"},
		"PowerShell's >":      {"\xff\xfe[\x00{\x00", "UTF-16"},
		"our own recording":   {"PROTNCAP\x01", "proton run --backend replay"},
		"the program itself":  {"#!/usr/bin/env python3\nimport torch\n", "a script"},
		"a log":               {"2026-11-21 09:15:02 INFO step 12 loss 3.14\n", `it starts with "2026-11-21 09:15", which is none of the formats that proton reads (hatchet`},
		"a list of numbers":   {"[1, 2, 3]", "--from FORMAT"},
		"xz":                  {"\xfd7zXZ\x00\x00\x04", "unxz"},
	} {
		p, err := Read(strings.NewReader(test.in))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "byte 0: ") {
			t.Errorf("%s: read %v, error %v, want byte 0: …%s…", name, p, err, test.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\x1b\n\r\x7f") {
			t.Errorf("%s: the error holds what must not reach a terminal: %q", name, err)
		}
	}
}

// repeated is a text many times over, made while it is read: what is measured is the reader, not the test.
type repeated struct {
	text string
	left int // bytes
}

func repeat(text string, times int) io.Reader { return &repeated{text, len(text) * times} }

func (r *repeated) Read(p []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	for n < len(p) && r.left > 0 {
		at := (len(r.text) - r.left%len(r.text)) % len(r.text)
		k := copy(p[n:min(len(p), n+r.left)], r.text[at:])
		n, r.left = n+k, r.left-k
	}
	return n, nil
}

// story is a file in pieces, strings and readers.
func story(pieces ...any) io.Reader {
	var all []io.Reader
	for _, p := range pieces {
		if s, ok := p.(string); ok {
			p = strings.NewReader(s)
		}
		all = append(all, p.(io.Reader))
	}
	return io.MultiReader(all...)
}

const (
	million = 1_000_000
	root    = `"frame":{"name":"ROOT"}`
)

// kernel is a tree of one kernel with these metrics.
func kernel(metrics string) io.Reader {
	return strings.NewReader(`[{` + root + `,"children":[{"frame":{"name":"k"},"metrics":{` + metrics + `}}]}]`)
}

// TestHostileTrees reads .hatchet files that mean harm, or come from a program that went wrong. Each is one clear error
// with a place, or is read as what it says; and none may cost more memory than a small multiple of its size.
func TestHostileTrees(t *testing.T) {
	first := func(p *profile.Profile) *profile.Node { return p.Root.Children[0] }
	value := func(want float64) func(p *profile.Profile) error {
		return func(p *profile.Profile) error {
			v, ok := first(p).Metric("x")
			if got, _ := v.Float(); !ok || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				return fmt.Errorf("x is %v (%v), want %v", got, ok, want)
			}
			return nil
		}
	}
	name := func(want string) func(p *profile.Profile) error {
		return func(p *profile.Profile) error {
			if got := first(p).Name; got != want {
				return fmt.Errorf("the frame is called %.40q, want %.40q", got, want)
			}
			return nil
		}
	}
	named := func(json string) io.Reader {
		return story(`[{`+root+`,"children":[{"frame":{"name":"`, json, `"}}]}]`)
	}
	tests := []struct {
		name  string
		file  io.Reader
		error string                         // in the error, or
		check func(p *profile.Profile) error // what must be true of the profile
		most  int                            // MB that reading it may allocate, freed or not
	}{
		{"a call path a million frames deep", story("[", repeat(`{"frame":{"name":"f"},"children":[`, million)),
			"byte 340035: call paths of more than 10000 frames", nil, 20},
		{"a million brackets", story("[", repeat("[", million)), "byte 10002: nested more than 10000 levels deep", nil, 4},
		{"a million brackets in a key that is skipped", story(`[{"x":`, repeat("[", million)), "nested more than 10000 levels deep", nil, 20},
		{"a million siblings", story(`[{`+root+`,"children":[{"frame":{"name":"k"}}`, repeat(`,{"frame":{"name":"k"}}`, million-1), `]}]`),
			"", func(p *profile.Profile) error {
				if n := len(p.Root.Children); n != million {
					return fmt.Errorf("%d children", n)
				}
				return nil
			}, 190},
		{"a million names", story(`[{`+root+`,"metrics":{`, differentMetrics(million), `"last":1}}]`), "more than 4096 metrics on one node", nil, 4},
		{"a list of a million numbers", kernelOf(story(`"x":[0`, repeat(",1", million), `]`)), "", func(p *profile.Profile) error {
			if v, _ := first(p).Metric("x"); len(v.Ints()) != million+1 {
				return fmt.Errorf("%d numbers", len(v.Ints()))
			}
			return nil
		}, 200},

		{"a negative time", kernel(`"x":-864`), "", value(-864), 1},
		{"not a number, Python's way", kernel(`"x":NaN`), "", value(math.NaN()), 1},
		{"nothing", kernel(`"x":null`), "", value(math.NaN()), 1},
		{"more than a float holds", kernel(`"x":1e999`), "", value(math.Inf(1)), 1},
		{"more than an integer holds", kernel(`"x":123456789012345678901234567890`), "", value(123456789012345678901234567890), 1},
		{"a number of a million digits", kernelOf(story(`"x":`, repeat("9", million))), "a number of more than 4096 characters", nil, 2},
		{"a metric twice", kernel(`"x":1,"x":2`), "", value(2), 1},
		{"half a number", kernel(`"x":1.`), `byte 75: expected a value, found "1."`, nil, 1},
		{"hexadecimal", kernel(`"x":0x10`), "byte 75: expected a value", nil, 1},

		{"half a surrogate pair", named(`\ud83d`), "", name("\uFFFD"), 1},
		{"a surrogate pair the wrong way around", named(`\ude00\ud83d!`), "", name("\uFFFD\uFFFD!"), 1},
		{"bytes that are not valid UTF-8", named("a\xff\xfeb"), "", name("a\uFFFDb"), 1},
		{"a name of ten million letters", named(strings.Repeat("k", 10*million)), "", name(strings.Repeat("k", 10*million)), 80},
		{"a name that is never closed", story(`[{"frame":{"name":"`, repeat("k", 10*million)), "byte 18: the string that starts here never ends", nil, 70},
		{"a name that clears the screen", named("\x1b[2J"), "byte 56: control character 0x1b inside a string", nil, 1},
		{"the same, escaped", named(`\u001b[2J`), "", name("\x1b[2J"), 1},
		{"a NUL", named("\x00"), "byte 56: control character 0x00", nil, 1},
		{"no name", story(`[{"children":[]}]`), "byte 1: a node without a frame name", nil, 1},

		{"a line of JSON after another", story(`[{`+root+`}]`, "\n", `[{`+root+`}]`), "byte 28: expected the end of the file", nil, 1},
		{"an endless tail", story(`[{`+root+`}]`, repeat(" ", 10*million), "x"), "byte 10000027: expected the end of the file", nil, 1},
		{"a device table of lists", story(`[{` + root + `},[]]`), "byte 27: expected '{' at the start of the device table", nil, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := Read(test.file)
			runtime.ReadMemStats(&after)
			switch {
			case test.error != "" && (err == nil || !strings.Contains(err.Error(), test.error)):
				t.Errorf("error %v, want …%s…", err, test.error)
			case test.error == "" && err != nil:
				t.Error(err)
			case test.check != nil:
				if err := test.check(p); err != nil {
					t.Error(err)
				}
			}
			if mb := int(after.TotalAlloc-before.TotalAlloc) >> 20; mb > test.most {
				t.Errorf("reading it allocated %d MB, want at most %d", mb, test.most)
			}
		})
	}
}

func kernelOf(metrics io.Reader) io.Reader {
	return story(`[{`+root+`,"children":[{"frame":{"name":"k"},"metrics":{`, metrics, `}}]}]`)
}

func differentMetrics(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"metric %d":1,`, i)
	}
	return b.String()
}

// TestNoFormatPanicsOnDamage cuts and changes a file of every format that is written, everywhere, and reads what is left.
// Whatever comes of it, profile or error, it comes soon and without a panic.
func TestNoFormatPanicsOnDamage(t *testing.T) {
	for _, f := range All() {
		if f.Write == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			var whole bytes.Buffer
			if err := f.Write(&whole, timed()); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reads := 0
			try := func(data []byte) {
				reads++
				if _, err := ReadAs(bytes.NewReader(data), f); err != nil && strings.ContainsAny(err.Error(), "\x1b\x00") {
					t.Errorf("the error holds what must not reach a terminal: %q", err)
				}
			}
			dice := rand.New(rand.NewPCG(1, 2))
			for n := range whole.Len() {
				try(whole.Bytes()[:n])
				changed := bytes.Clone(whole.Bytes())
				changed[n] = byte(dice.Uint32())
				try(changed)
				changed[n], changed[dice.IntN(len(changed))] = 0xff, byte(dice.Uint32()) // makes lengths enormous
				try(changed)
				try(append(changed[:n:n], whole.Bytes()[dice.IntN(whole.Len()):]...))
			}
			runtime.ReadMemStats(&after)
			if each := int(after.TotalAlloc-before.TotalAlloc) / reads; each > 4<<20 {
				t.Errorf("a damaged file of %d bytes takes %d KB on average", whole.Len(), each>>10)
			}
		})
	}
}

// timed is small with a timeline, so that every format has something to hold.
func timed() *profile.Profile {
	p := small()
	path := []string{"ROOT", "step", "gemm"}
	p.Timeline = &profile.Timeline{
		Lanes: []profile.Lane{{ID: 1, Name: "CPU Thread 0", Thread: 77}, {ID: 2, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Stream: 7}},
		Slices: []profile.Slice{
			{Lane: 1, Kind: profile.ScopeSlice, Name: "step", Start: 1000, Duration: 900, Path: path[:2], ID: 5},
			{Lane: 1, Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: 1100, Duration: 50, Path: path[:2], ID: 9},
			{Lane: 2, Kind: profile.KernelSlice, Name: "gemm", Start: 1200, Duration: 864, Path: path, ID: 9},
		},
		Flows: []profile.Flow{{ID: 9, From: 1, To: 2, Start: 1110, End: 1200}},
	}
	return p
}

// TestHostileFilesOfEveryFormat reads files that claim more than they hold, or hold more than they should. What comes of
// it is a profile of bounded depth, or an error; both soon and in memory that is bounded by the size of the file. (An empty
// message of a protobuf is two bytes, and a struct of 80 when it is decoded.)
func TestHostileFilesOfEveryFormat(t *testing.T) {
	const mostDepth = 10_000
	lengths := []string{"\xdb\xff\xff\xff\xff", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff"}
	trace := func(events ...any) io.Reader {
		return story(append(append([]any{`{"traceEvents":[`}, events...), "]}")...)
	}
	files := []struct {
		format, name string
		file         io.Reader
		size         int
		error        string // in the error; "" where a profile may come of it
	}{
		{"hatchet_msgpack", "a path a million frames deep", story("\x92", repeat("\x81\xa8children\x91", million)), 11 * million, "byte"},
		{"hatchet_msgpack", "a million arrays in one another", repeat("\x91", million), million, "byte"},
		{"hatchet_msgpack", "a string of 4 GB", story("\x92\x81", lengths[0]), 10, "byte"},
		{"hatchet_msgpack", "4 G children", story("\x92\x81\xa8children", lengths[1]), 20, "byte"},
		{"hatchet_msgpack", "4 G metrics", story("\x92\x81\xa7metrics", lengths[2]), 20, "byte"},
		{"hatchet_msgpack", "binary of 4 GB", story("\x92\x81\xa1x", lengths[3]), 10, "byte"},

		{"pprof", "a string of 2^60 bytes", strings.NewReader("\x32\xff\xff\xff\xff\xff\xff\xff\xff\x0f"), 10, ""},
		{"pprof", "a sample at a million places", story("\x12\xc4\x84\x3d\x0a\xc0\x84\x3d", repeat("\x01", million)), million, ""},
		{"pprof", "a million empty samples", repeat("\x12\x00", million), 2 * million, ""},
		{"pprof", "a million empty locations", repeat("\x22\x00", million), 2 * million, ""},

		{"collapsed", "a path a million frames deep", story(repeat("f;", million), "f 1\n"), 2 * million, "byte"},
		{"collapsed", "a line of ten million letters", story(repeat("k", 10*million), " 1\n"), 10 * million, ""},
		{"collapsed", "a million paths", repeat("a;b 1\n", million), 6 * million, ""},
		{"collapsed", "more than an integer holds", story("a;b 123456789012345678901234567890\n"), 40, ""},
		{"collapsed", "less than nothing", story("a;b -5\n"), 40, ""},

		{"chrome_trace", "a million brackets", trace(repeat("[", million)), million, "byte"},
		{"chrome_trace", "arguments a million levels deep", trace(`{"ph":"X","name":"k","ts":1,"dur":1,"pid":1,"tid":1,"args":`, repeat(`{"a":`, million)), 5 * million, "byte"},
		{"chrome_trace", "a million scopes that never end", trace(repeat(`{"ph":"B","name":"f","ts":1,"pid":1,"tid":1},`, million), `{"ph":"M"}`), 46 * million, ""},
		{"chrome_trace", "a million lanes", trace(manyLanes(million/10), `{"ph":"M"}`), 7 * million, ""},
		{"chrome_trace", "times beyond measure", trace(`{"ph":"X","name":"k","ts":-1e300,"dur":1e300,"pid":1,"tid":1}`), 70, ""},
		{"chrome_trace", "a call path a million frames deep", trace(`{"ph":"X","name":"k","ts":1,"dur":1,"pid":1,"tid":1,"args":{"call_stack":["a"`, repeat(`,"a"`, million), `]}}`), 4 * million, ""},
	}
	for _, test := range files {
		t.Run(test.format+"/"+test.name, func(t *testing.T) {
			f, err := ByName(test.format)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := ReadAs(test.file, f)
			runtime.ReadMemStats(&after)
			switch {
			case err == nil && test.error != "":
				t.Errorf("no error, want …%s…", test.error)
			case err != nil && !strings.Contains(err.Error(), test.error):
				t.Errorf("error %v, want …%s…", err, test.error)
			case err == nil:
				p.Root.Walk(func(_ *profile.Node, depth int) bool {
					if depth == mostDepth+1 {
						t.Errorf("the tree is more than %d frames deep", mostDepth)
					}
					return depth <= mostDepth
				})
			}
			if used, most := after.TotalAlloc-before.TotalAlloc, uint64(32<<20+100*test.size); used > most {
				t.Errorf("%d bytes take %d MB, more than 100 times as much", test.size, used>>20)
			}
			t.Logf("%d MB: %v", (after.TotalAlloc-before.TotalAlloc)>>20, err)
		})
	}
}

func manyLanes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"ph":"X","name":"k","ts":%d,"dur":1,"pid":%d,"tid":1},`, i, i)
	}
	return b.String()
}
