package record

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// producer writes records as hooks/trace.c does.
type producer struct {
	log      *Log
	into     *ring // nil for the log's own
	sequence uint64
	spaces   int // that make records larger
}

func (p *producer) ring() *ring {
	if p.into != nil {
		return p.into
	}
	return p.log.ring
}

// A machine that is slow does not make a process give up what it writes, unless a test is about that.
func init() { writePatience = testkit.Patience() }

type bytesOf []byte

func (b bytesOf) uint(v uint64) bytesOf   { return binary.AppendUvarint(b, v) }
func (b bytesOf) int(v int64) bytesOf     { return binary.AppendUvarint(b, uint64(v)<<1^uint64(v>>63)) }
func (b bytesOf) fixed(v uint64) bytesOf  { return binary.LittleEndian.AppendUint64(b, v) }
func (b bytesOf) tag(c byte) bytesOf      { return append(b, c) }
func (b bytesOf) list(v ...int64) bytesOf { return bytesOf.values(b.uint(uint64(len(v))), v) }
func (b bytesOf) values(v []int64) bytesOf {
	for _, n := range v {
		b = b.int(n)
	}
	return b
}

// push adds a record to the ring, as ring_push in hooks/tracering.c does while there is room.
func push(r *ring, payload []byte) bool {
	capacity := uint64(len(r.mem) - ringHeader)
	need := (4 + uint64(len(payload)) + recordAlign - 1) / recordAlign * recordAlign
	position := r.written()
	at, skip := position%capacity, uint64(0)
	if capacity-at < need {
		skip = capacity - at
	}
	if position+skip+need-*r.word(atRead) > capacity {
		return false
	}
	data := r.mem[ringHeader:]
	if skip > 0 {
		binary.LittleEndian.PutUint32(data[at:], skipToStart)
		at = 0
	}
	binary.LittleEndian.PutUint32(data[at:], uint32(len(payload)))
	copy(data[at+4:], payload)
	*r.word(atWritten) = position + skip + need
	return true
}

func (p *producer) launch(t testing.TB, n int64) {
	t.Helper()
	l := p.log
	stack := l.Define([]byte("/p/train.py:1@<module>\x00/p/a@b.py:7@step"))
	template := l.Define([]byte(`{"name":"add","hash":"ab","metadata":{"hash":"ab","num_warps":4},"args":["x","n","f","flag","none","big"]}`))
	dtype, device := l.Define([]byte(`{"name":"torch.float16","size":2}`)), l.Define([]byte("cuda:0"))
	kind := bytesOf{}.tag('G').list(4, 1)
	kind = kind.tag('x').uint(dtype).uint(device).int(3).list(8, 1, 2).list(2, 99, 1)
	kind = kind.tag('i').int(n).tag('f').fixed(math.Float64bits(math.Inf(-1))).tag('t').tag('n')
	const big = `{"type":"int","value":1e3}`
	kind = append(kind.tag('j').uint(uint64(len(big))), big...)
	p.sequence++
	head := bytesOf{recordLaunch}.fixed(1_800_000_000_123_456_789).fixed(0x1234).tag(hasArguments)
	head = head.uint(stack).uint(template).uint(p.sequence).int(-1).int(0).uint(uint64(len(kind)))
	payload := append(head, kind...)
	statistics := `"min":-1` + strings.Repeat(" ", p.spaces)
	payload = append(payload.fixed(0x7f0000000000).uint(uint64(len(statistics))), statistics...)
	if !push(p.ring(), payload) {
		testkit.Await(t, "the writer makes room", func() bool { return push(p.ring(), payload) })
	}
}

// written waits until as many launches as that are in the output, and the ring says so.
func (p *producer) written(t testing.TB, launches uint64) {
	t.Helper()
	testkit.Await(t, "launches are written", func() bool { return p.log.ring.last().Launches >= launches })
}

func begin(t testing.TB, o Options) *Log {
	t.Helper()
	t.Setenv("USER", "me")
	l, err := Begin(o, func(what string) { t.Errorf("complained: %s", what) })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lines reads the traces of a folder, or those that a pattern matches, with nothing of this package.
func lines(t testing.TB, pattern string) (all [][]byte) {
	t.Helper()
	if info, err := os.Stat(pattern); err == nil && info.IsDir() {
		pattern = filepath.Join(pattern, tritonparse.Prefix+"*")
	}
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := packed
		switch {
		case bytes.HasPrefix(packed, []byte{0x28, 0xb5, 0x2f, 0xfd}):
			d, _ := zstd.NewReader(nil)
			text, err = d.DecodeAll(packed, nil)
			d.Close()
		case bytes.HasPrefix(packed, []byte{0x1f, 0x8b}):
			var members *gzip.Reader
			if members, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
				text, err = io.ReadAll(members)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, bytes.Split(bytes.TrimSpace(text), []byte{'\n'})...)
	}
	return all
}

func records(t testing.TB, pattern string) (all []map[string]any) {
	t.Helper()
	for _, line := range lines(t, pattern) {
		var r map[string]any
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

func TestLaunchRecord(t *testing.T) {
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "none"})
	p := producer{log: l}
	p.launch(t, -5)
	if got := l.End(testkit.Patience()); got != (Counts{Launches: 1}) {
		t.Errorf("counted %+v", got)
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(paths) != 1 || !strings.Contains(paths[0], fmt.Sprintf("_triton_trace_me_rank_none_pid_%d_host_", os.Getpid())) {
		t.Fatalf("left behind: %v", paths)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"event_type":"launch","pid":PID,"name":"add","function":4660,"stream":-1,"grid":[4,1],` +
		`"compilation_metadata":{"hash":"ab","num_warps":4},` +
		`"extracted_args":{"x":{"type":"tensor","shape":[8,1,2],"dtype":"torch.float16","device":"cuda:0","stride":[2,99,1],"numel":16,` +
		`"is_contiguous":true,"element_size":2,"storage_offset":3,"memory_usage":32,"data_ptr":"0x7f0000000000","min":-1},` +
		`"n":{"type":"int","value":-5},"f":{"type":"float","value":"-inf"},"flag":{"type":"bool","value":true},` +
		`"none":{"type":"NoneType","repr":"None"},"big":{"type":"int","value":1e3}},"extracted_inductor_args":{},` +
		`"stack":[{"line":1,"name":"<module>","filename":"/p/train.py","loc":""},{"line":7,"name":"step","filename":"/p/a@b.py","loc":""}],` +
		`"timestamp":"2027-01-15T08:00:00.123456Z","goproton":{"launch":"KIND","device":0,"timestamp":{"ns":1800000000123456789,"sequence":1}}}` + "\n"
	got := strings.Replace(string(text), fmt.Sprintf(`"pid":%d`, os.Getpid()), `"pid":PID`, 1)
	var r struct{ Goproton struct{ Launch string } }
	_ = json.Unmarshal(text, &r)
	if got = strings.Replace(got, r.Goproton.Launch, "KIND", 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestManyLaunchesGoAroundTheRing(t *testing.T) {
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "zstd"})
	const size, n = 2048, 12_000 // 24 MB of records
	p := producer{log: l, spaces: size}
	for i := range int64(n) {
		p.launch(t, i%7)
	}
	if got := l.End(testkit.Patience()); got != (Counts{Launches: n}) {
		t.Errorf("counted %+v", got)
	}
	last := 0
	for _, line := range lines(t, folder) {
		number, _, _ := bytes.Cut(line[bytes.LastIndexByte(line, ':')+1:], []byte{'}'})
		at, err := strconv.Atoi(string(number))
		if err != nil || at != last+1 {
			t.Fatalf("launch %s follows %d", number, last)
		}
		last = at
	}
	if last != n {
		t.Errorf("%d records of %d", last, n)
	}
}

// ringFiles is what a process leaves that dies: its files are copied while it lives.
func ringFiles(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	// The ring first: what is done while it is copied is then in the other files, as bytes that were not committed.
	for _, pattern := range []string{ringPrefix + "*.ring", ringPrefix + "*.definitions", tritonparse.Prefix + "*"} {
		paths, _ := filepath.Glob(filepath.Join(folder, pattern)) // only now: the output is made when there is something to write
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(path)] = text
		}
	}
	return files
}

// died puts such files where they can be recovered, under the number of a process that is not this one.
func died(t testing.TB, files map[string][]byte) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func names(t testing.TB, folder string) (left []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ringPrefix) {
			left = append(left, e.Name())
		}
	}
	return left
}

func TestRecoverAfterDeath(t *testing.T) {
	for _, compression := range []string{"zstd", "gzip", "none"} {
		t.Run(compression, func(t *testing.T) {
			folder := t.TempDir()
			l := begin(t, Options{Folder: folder, Compression: compression})
			p := producer{log: l}
			for i := range int64(100) {
				p.launch(t, i)
				if i == 50 {
					p.written(t, 1) // about half of them
				}
			}
			l.Event([]byte(`{"event_type":"autotune","ns":1800000000000000000,"stack":[["/p/x.py",3,"f"]],"members":{"kernel_name":"k"}}`))
			files := ringFiles(t, folder)
			l.End(testkit.Patience())

			again := died(t, files)
			found, err := Recover(again)
			if err != nil || len(found.Problems) > 0 || found.Processes != 1 {
				t.Fatalf("recovered %+v, %v", found, err)
			}
			if left := names(t, again); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			launches := 0
			for _, r := range records(t, again) {
				if r["event_type"] == "launch" {
					launches++
				}
			}
			if launches != 100 {
				t.Errorf("%d launches of 100", launches)
			}
		})
	}
}

// TestDeathAtEveryByte cuts the definitions, and the output, wherever a process can die in the middle of writing.
func TestDeathAtEveryByte(t *testing.T) {
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "zstd"})
	p := producer{log: l}
	p.launch(t, 1)
	p.written(t, 1)
	files := ringFiles(t, folder)
	var output, definitions, ringName string
	for name := range files {
		switch {
		case strings.HasSuffix(name, ".definitions"):
			definitions = name
		case strings.HasSuffix(name, ".ring"):
			ringName = name
		default:
			output = name
		}
	}
	if output == "" || definitions == "" || ringName == "" {
		t.Fatalf("files: %v", names(t, folder))
	}
	// What is launched now is not written any more. It refers to what was defined for the first launch.
	p.into = &ring{mem: files[ringName]}
	p.launch(t, 2)
	p.launch(t, 3)
	files[ringName] = smaller(files[ringName])
	l.End(testkit.Patience())
	// Bytes after what was committed are those of a write that was cut.
	for _, junk := range [][]byte{nil, {1}, bytes.Repeat([]byte{0xff}, 100)} {
		with := map[string][]byte{output: append(bytes.Clone(files[output]), junk...), definitions: files[definitions], ringName: files[ringName]}
		again := died(t, with)
		if found, err := Recover(again); err != nil || len(found.Problems) > 0 || found.Launches != 2 {
			t.Fatalf("%d bytes more: %+v, %v", len(junk), found, err)
		}
		if n := len(records(t, again)); n != 3 {
			t.Errorf("%d bytes more: %d launches", len(junk), n)
		}
	}
	// A definition is written before a launch refers to it; here the file is cut although they do. That costs those launches.
	for cut := range len(files[definitions]) {
		with := map[string][]byte{output: files[output], definitions: files[definitions][:cut], ringName: files[ringName]}
		again := died(t, with)
		found, err := Recover(again)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if found.Processes == 1 && found.Launches+found.Lost != 2 {
			t.Errorf("cut at %d: %+v", cut, found)
		}
	}
}

// TestRingThatWasCopiedInUse has a commit that is newer than the number of bytes written.
func TestRingThatWasCopiedInUse(t *testing.T) {
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "zstd"})
	p := producer{log: l}
	p.launch(t, 1)
	p.written(t, 1)
	files := ringFiles(t, folder)
	l.End(testkit.Patience())
	for name := range files {
		if strings.HasSuffix(name, ".ring") {
			clear(files[name][atWritten : atWritten+8])
		}
	}
	again := died(t, files)
	if found, err := Recover(again); err != nil || len(found.Problems) > 0 || found.Launches != 0 {
		t.Errorf("recovered %+v, %v", found, err)
	}
	if n := len(records(t, again)); n != 1 {
		t.Errorf("%d launches, want the one that was committed", n)
	}
}

// smaller makes a ring whose records have not gone around as small as they are.
func smaller(ring []byte) []byte {
	size := ringHeader + int(binary.LittleEndian.Uint64(ring[atWritten:]))
	ring = bytes.Clone(ring[:size])
	binary.LittleEndian.PutUint64(ring[atCapacity:], uint64(size-ringHeader))
	return ring
}

// TestDeathBeforeTheFirstCommit has a first batch in the output of which the ring does not know, behind what an earlier process wrote.
func TestDeathBeforeTheFirstCommit(t *testing.T) {
	for _, compression := range []string{"zstd", "gzip", "none"} {
		folder := t.TempDir()
		o := Options{Folder: folder, Compression: compression}
		for range 2 {
			l := begin(t, o)
			p := producer{log: l}
			p.launch(t, 1)
			l.End(testkit.Patience())
		}
		l := begin(t, o)
		before := bytes.Clone(l.ring.mem)
		p := producer{log: l}
		p.launch(t, 2)
		written := bytes.Clone(l.ring.mem[ringHeader:])
		p.written(t, 1)
		files := ringFiles(t, folder)
		for name := range files {
			if strings.HasSuffix(name, ".ring") {
				copy(files[name], before)
				copy(files[name][ringHeader:], written)
				copy(files[name][atWritten:], l.ring.mem[atWritten:atWritten+8])
			}
		}
		l.End(testkit.Patience())
		again := died(t, files)
		if found, err := Recover(again); err != nil || len(found.Problems) > 0 || found.Launches != 1 {
			t.Fatalf("%s: recovered %+v, %v", compression, found, err)
		}
		if n := len(records(t, again)); n != 3 {
			t.Errorf("%s: %d launches, want two of earlier processes and one", compression, n)
		}
	}
}

func TestALivingProcessIsLeftAlone(t *testing.T) {
	// fcntl's locks do not hold against the process that has them, so this asks what another process would see.
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "none"})
	defer l.End(testkit.Patience())
	out := another(t, "TestLockHelper", l.ring.file.Name())
	if !strings.Contains(out, "locked") {
		t.Errorf("another process finds the ring %q", out)
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(Options{Folder: filepath.Join(file, "traces")}, nil); err == nil || !strings.Contains(err.Error(), "trace folder") {
		t.Errorf("a folder below a file: %v", err)
	}
}

func TestRankChangesTheFile(t *testing.T) {
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "zstd"})
	p := producer{log: l}
	p.launch(t, 1)
	push(l.ring, bytesOf{recordRank}.int(3))
	p.launch(t, 2)
	p.launch(t, 3)
	l.End(testkit.Patience())
	for pattern, want := range map[string]int{"*_rank_none_*": 1, "*_rank_3_*": 2} {
		if got := len(records(t, filepath.Join(folder, pattern))); got != want {
			t.Errorf("%d launches in %s, want %d", got, pattern, want)
		}
	}
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	folder := t.TempDir()
	t.Setenv("USER", "me")
	said := make(chan string, 10)
	l, err := Begin(Options{Folder: folder, Compression: "none"}, func(what string) { said <- what })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(folder, l.header.outputName(noRank))); err != nil {
		t.Fatal(err)
	}
	p := producer{log: l}
	p.launch(t, 1)
	if got := l.End(testkit.Patience()); got.Launches != 0 || got.Lost != 1 {
		t.Errorf("counted %+v", got)
	}
	if what := <-said; !strings.Contains(what, "the disk is full") {
		t.Errorf("said %q", what)
	}
	if len(said) > 0 {
		t.Errorf("and then %q", <-said)
	}
}

func FuzzRecover(f *testing.F) {
	folder := f.TempDir()
	f.Setenv("USER", "me")
	l, err := Begin(Options{Folder: folder, Compression: "none"}, func(string) {})
	if err != nil {
		f.Fatal(err)
	}
	p := producer{log: l}
	p.launch(f, 1)
	files := ringFiles(f, folder)
	l.End(testkit.Patience())
	for name, text := range files {
		if strings.HasSuffix(name, ".ring") {
			files["ring"] = smaller(text)
		} else if strings.HasSuffix(name, ".definitions") {
			files["definitions"] = text
		}
	}
	f.Add(files["ring"], files["definitions"])
	f.Fuzz(func(t *testing.T, ring, definitions []byte) {
		if bytes.Contains(definitions, []byte(`"path"`)) {
			return // files of this machine
		}
		folder := t.TempDir()
		base := filepath.Join(folder, ringPrefix+"pid_1_host_h_")
		if os.WriteFile(base+".ring", ring, 0o666) != nil || os.WriteFile(base+".definitions", definitions, 0o666) != nil {
			t.Fatal("write the ring files")
		}
		if _, err := Recover(folder); err != nil {
			t.Fatal(err)
		}
	})
}
