package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// A bomb is an input that is small, and that a reader could take for something large. What a command takes for each byte of the unpacked files
// in addition to memoryFixed is said in docs/formats.md: bombFactor at most, and for timelines as PyTorch writes them traceFactor, or
// rowsFactor where it writes every row of the tree.
const (
	memoryFixed = 160 << 20
	bombFactor  = 96
	traceFactor = 8
	rowsFactor  = 20
)

type bomb struct {
	file string
	size int64 // unpacked
}

// packInto writes an input into a file, in pieces: what the test itself takes counts for the programs that it starts.
func packInto(t *testing.T, file string, write func(w io.Writer)) bomb {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z, _ := gzip.NewWriterLevel(f, gzip.BestSpeed)
	w := &counting{to: bufio.NewWriterSize(z, 1<<20)}
	write(w)
	if errors.Join(w.to.Flush(), z.Close(), f.Close()) != nil {
		t.Fatal("the input could not be written")
	}
	return bomb{file, w.written}
}

type counting struct {
	to      *bufio.Writer
	written int64
}

func (c *counting) Write(b []byte) (int, error) {
	c.written += int64(len(b))
	return c.to.Write(b)
}

// pythonStacks writes a timeline as PyTorch does with with_stack, of 62 MB: a quarter of a million calls of Python around 15,000 kernels.
func pythonStacks(w io.Writer) {
	io.WriteString(w, `{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}}`)
	random := rand.New(rand.NewPCG(1, 2))
	at := 1000
	for call, launch := 0, 0; call < 245_000; {
		depth, kernels := 20+random.IntN(25), 1+random.IntN(3)
		for d := range depth {
			fmt.Fprintf(w, ",\n"+`{"ph": "X", "cat": "python_function", "name": "torch/nn/modules/module_%d.py(%d): _call_impl", "pid": 1, "tid": 1, "ts": %d, "dur": %d, "args": {"Python id": %d, "Python parent id": %d, "Python module id": %d}}`,
				d, 7*random.IntN(30), at+d, 2*(depth-d)+10*kernels, call, call-1, d)
			call++
		}
		for k := range kernels {
			launch++
			start := at + depth + 10*k
			fmt.Fprintf(w, `,{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": %d, "dur": 8, "args": {"External id": %d}}`, start, launch)
			fmt.Fprintf(w, `,{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %d, "dur": 3, "args": {"correlation": %d}}`, start+1, launch)
			fmt.Fprintf(w, `,{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": %d, "dur": 6, "args": {"device": 0, "stream": 7, "correlation": %d}}`, start+5, launch)
		}
		at += 2*depth + 10*kernels + 5
	}
	io.WriteString(w, "]}")
}

// bombs writes the inputs into a folder.
func bombs(t *testing.T) map[string]bomb {
	t.Helper()
	folder := t.TempDir()
	all := map[string]bomb{}
	put := func(name, file, text string) {
		all[name] = packInto(t, filepath.Join(folder, file), func(w io.Writer) { io.WriteString(w, text) })
	}
	// A tree that is one call path, of the most frames that a file may have.
	frame := `[{"frame":{"name":"` + strings.Repeat("k", 100) + `"},"metrics":{"time (ns)":1},"children":`
	const deep = 9990
	put("tree", "deep.hatchet.gz", `[{"frame":{"name":"ROOT"},"metrics":{"time (ns)":0},"children":`+strings.Repeat(frame, deep)+`[]`+strings.Repeat(`}]`, deep)+`}]`)
	// Scopes that lie in each other, with work on a GPU in the innermost.
	var events []string
	const nested = 20_000
	for i := range nested {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"scope","name":"s","pid":0,"tid":1,"ts":%d,"dur":%d}`, i, 2*(nested-i)))
	}
	for i := range 100 {
		at := nested + 10*i
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":0,"tid":1,"ts":%d,"dur":1,"args":{"correlation":%d}}`, nested, i+1),
			fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"device":0,"stream":7,"correlation":%d}}`, at, i+1))
	}
	put("nested", "nested.chrome_trace.gz", `{"traceEvents":[`+strings.Join(events, ",")+`]}`)
	// Scopes that never end.
	events = events[:0]
	for i := range nested {
		events = append(events, fmt.Sprintf(`{"ph":"B","name":"s%d","pid":0,"tid":1,"ts":%d}`, i, i))
	}
	put("open", "open.chrome_trace.gz", `{"traceEvents":[`+strings.Join(events, ",")+`]}`)
	// A binary for the GPU in which many functions share one table of lines.
	image := sharedLines(2000, 20_000)
	record := `{"event_type":"compilation","pid":1,"timestamp":"t","payload":{"metadata":{"hash":"aa","name":"k","num_warps":4,"shared":4096,"warp_size":32,` +
		`"backend_name":"cuda","target":{"backend":"cuda","arch":90,"warp_size":32},"num_stages":1},"file_path":{"k.cubin":"` + filepath.Join(folder, "k.cubin") + `"},"file_content":{"k.ttir":"module {}"}}}`
	trace := filepath.Join(folder, "trace.ndjson")
	if os.WriteFile(filepath.Join(folder, "k.cubin"), image, 0o666) != nil || os.WriteFile(trace, []byte(record), 0o666) != nil {
		t.Fatal("the trace could not be written")
	}
	all["binary"] = bomb{trace, int64(len(image) + len(record))}
	return all
}

// sharedLines is a cubin of some functions that are the same code, whose line table has some rows.
func sharedLines(functions, rows int) []byte {
	le := binary.LittleEndian
	code := make([]byte, rows)
	header := append([]byte{1, 1, 1, 1, 10}, 0, 1, 1, 1, 1, 0, 0, 0, 1) // one byte an instruction, lines and addresses rise by one, ten opcodes
	header = append(header, "\x00a.py\x00\x00\x00\x00\x00"...)
	head := le.AppendUint32(le.AppendUint16(nil, 2), uint32(len(header)))
	program := append([]byte{0, 9, 2}, make([]byte, 8)...) // DW_LNE_set_address, relocated
	program = append(program, bytes.Repeat([]byte{11}, rows)...)
	program = append(program, 0, 1, 1)
	unit := append(append(head, header...), program...)
	lines := append(le.AppendUint32(nil, uint32(len(unit))), unit...)
	symbols := make([]byte, 24)
	for range functions {
		symbols = le.AppendUint32(symbols, 1)
		symbols = append(symbols, 0x12, 0x10, 1, 0) // a global function in section 1; an entry
		symbols = le.AppendUint64(le.AppendUint64(symbols, 0), uint64(len(code)))
	}
	at := uint64(4 + len(head) + len(header) + 3)
	relocation := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, at), 1<<32|2), 0)
	names := []string{"", ".text.k", ".symtab", ".strtab", ".debug_line", ".rela.debug_line", ".shstrtab"}
	var texts []byte
	var nameAt []uint32
	for _, name := range names {
		nameAt = append(nameAt, uint32(len(texts)))
		texts = append(append(texts, name...), 0)
	}
	sections := [][]byte{nil, code, symbols, []byte("\x00k\x00"), lines, relocation, texts}
	types, links, infos, sizes := []uint32{0, 1, 2, 3, 1, 4, 3}, []uint32{0, 0, 3, 0, 0, 2, 0}, []uint32{0, 0, 1, 0, 0, 4, 0}, []uint64{0, 0, 24, 0, 0, 24, 0}
	var body, table []byte
	for i, section := range sections {
		table = le.AppendUint32(le.AppendUint32(table, nameAt[i]), types[i])
		table = le.AppendUint64(le.AppendUint64(le.AppendUint64(le.AppendUint64(table, 0), 0), uint64(64+len(body))), uint64(len(section)))
		table = le.AppendUint32(le.AppendUint32(table, links[i]), infos[i])
		table = le.AppendUint64(le.AppendUint64(table, 1), sizes[i])
		body = append(body, section...)
	}
	file := append([]byte("\x7fELF\x02\x01\x01\x33\x07"), make([]byte, 7)...)
	file = le.AppendUint32(le.AppendUint16(le.AppendUint16(file, 2), 190), 1)
	file = le.AppendUint64(le.AppendUint64(le.AppendUint64(file, 0), 0), uint64(64+len(body)))
	file = le.AppendUint32(file, 90)
	for _, v := range []uint16{64, 0, 0, 64, uint16(len(sections)), uint16(len(sections) - 1)} {
		file = le.AppendUint16(file, v)
	}
	return append(append(file, body...), table...)
}

// bombed are the commands that read profiles: IN stands for the file, and OUT for a folder. Those of the first list are in "make test".
var bombed = [2]string{`viewer --all IN
viewer --bottom-up IN
viewer --view csv -d 500 IN
viewer --idle IN
query IN
gate --baseline IN -- IN
diff IN IN
pprof -top IN
report IN -o OUT/a.html
convert IN -o OUT/c.pb.gz
convert IN -o OUT/c.perfetto`, `viewer IN
viewer --flat IN
viewer --top 20 IN
viewer --view table IN
viewer --view csv IN
viewer --view json IN
viewer --list IN
viewer --compat -m time/s IN
query --json --top 100000 IN
query --parquet OUT/rows.parquet IN
gate --json --baseline IN -- IN
diff --view json IN IN
diff --view csv IN IN
merge IN IN -o OUT/m.hatchet
merge --timeline IN IN -o OUT/m.chrome_trace
merge --imbalance IN IN
report IN IN -o OUT/b.html
convert IN -o OUT/c.hatchet
convert IN -o OUT/c.hatchet_msgpack
convert IN -o OUT/c.collapsed
convert IN -o OUT/c.speedscope.json
convert IN -o OUT/c.chrome_trace`}

const bombedTraces = "trace info IN\ntrace info --compilations IN\ntrace diff IN IN\ntrace cat IN\ntrace validate IN\ntrace extract IN -o OUT/ex"

// writesRows are commands that write every row.
var writesRows = regexp.MustCompile(`--view (table|json|csv)|--parquet|^report`)

// Every command that reads files takes memory in proportion to them. It may refuse one, in a sentence; it never ends for lack of memory.
func TestMemoryIsInProportion(t *testing.T) {
	if testing.Short() {
		t.Skip("the command that is measured was built without the race detector, so a second time finds nothing more")
	}
	env := testkit.Built(t)
	all := bombs(t)
	lines := bombed[0]
	if testkit.All() {
		lines += "\n" + bombed[1]
		all["python"] = packInto(t, filepath.Join(t.TempDir(), "python.chrome_trace.gz"), pythonStacks)
	}
	for name, in := range all {
		commands, out := lines, t.TempDir()
		if name == "binary" {
			commands = bombedTraces
		}
		for line := range strings.Lines(commands) {
			line = strings.TrimSpace(line)
			factor := int64(bombFactor)
			if name == "python" {
				factor = traceFactor
				if writesRows.MatchString(line) {
					factor = rowsFactor
				}
			}
			takes(t, env, name+": "+line, in, out, strings.Fields(line), factor)
		}
	}
}

// takes runs a command and checks how it ended, and that it took at most memoryFixed and some bytes for each byte of its files.
func takes(t *testing.T, env []string, what string, in bomb, out string, words []string, factor int64) {
	most := int64(memoryFixed)
	for i := range words {
		if words[i] == "IN" {
			most += factor * in.size
		}
		words[i] = strings.ReplaceAll(strings.ReplaceAll(words[i], "OUT", out), "IN", in.file)
	}
	cmd, stderr, used := measured(env, words)
	for i := 0; i < 2 && used > most; i++ { // how late the collector runs depends on what else the machine does: the least of three counts
		_, _, again := measured(env, words)
		used = min(used, again)
	}
	if used > most {
		t.Errorf("%s took %d MiB; %d MiB are its part", what, used>>20, most>>20)
	}
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 3 || code > 0 && (stderr.Len() > 4096 || !strings.HasPrefix(stderr.String(), "proton: ")) {
		t.Errorf("%s ended with %v: %.300s", what, cmd.ProcessState, stderr.String())
	}
}

// measured runs a command and returns what it wrote to standard error and the most memory that it held, in bytes.
func measured(env, words []string) (cmd *exec.Cmd, stderr *bytes.Buffer, used int64) {
	cmd, stderr = exec.Command("sh", append([]string{"-c", `exec proton "$@"`, "sh"}, words...)...), &bytes.Buffer{}
	cmd.Env, cmd.Stderr = env, stderr
	cmd.Run() //nolint:errcheck // a refusal is fine; the caller asks how the command ended
	return cmd, stderr, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}
