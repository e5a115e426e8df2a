package formats

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/testkit"
)

// TestMain also is the process that TestMemoryInProportion watches: it reads a file from standard input.
func TestMain(m *testing.M) {
	name := os.Getenv("GOPROTON_TEST_READ")
	if name == "" {
		os.Exit(m.Run())
	}
	var f *Format
	if name != "any" {
		f, _ = ByName(name)
	}
	p, err := ReadAs(os.Stdin, f)
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Print(strings.Fields(peak)[0], " ", err)
	runtime.KeepAlive(p)
}

// peak reads a file in a process of its own and returns how many bytes that had in memory at most. The kernel counts them:
// what a reader allocates and drops again counts too if it was there at once.
func peak(t *testing.T, format string, file io.Reader) (bytes int64, said string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("Linux counts the memory of a process")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOPROTON_TEST_READ="+format, "GOGC=100")
	cmd.Stdin, cmd.Stderr = file, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	kb, said, _ := strings.Cut(string(out), " ")
	n, err := strconv.ParseInt(kb, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10, said
}

// counting writes what format makes of 0, 1, 2 …, a comma between two, until there are size bytes.
func counting(format string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// short is the i-th of half a million MessagePack strings of four letters.
func short(i int) string {
	return string([]byte{0xa4, 'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 'a' + byte(i/17576%26)})
}

func array32(n int) string { return "\xdd" + string(binary.BigEndian.AppendUint32(nil, uint32(n))) }
func map32(n int) string   { return "\xdf" + string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// dense are files in which a few bytes stand for much, of about size bytes each.
func dense(size int) map[string]map[string]string {
	var names, metrics, devices strings.Builder
	for i := range size / 5 {
		names.WriteString(short(i) + "\xa0")
		devices.WriteString(short(i) + "\x80")
	}
	for at := 0; at < size/5; at += 4000 {
		metrics.WriteString("\x82\xa5frame\x81\xa4name\xa1f\xa7metrics\xde" + string(binary.BigEndian.AppendUint16(nil, 4000)))
		for i := range 4000 {
			metrics.WriteString(short(i) + "\x01")
		}
	}
	node := "\x82\xa5frame\x81\xa4name\xa1k" // and one more key
	stack := strings.Repeat(";f", 9000) + " 1\n"
	var stacks, deep strings.Builder
	for i := 0; stacks.Len() < size; i++ {
		fmt.Fprintf(&stacks, "%d%s", i, stack)
		fmt.Fprintf(&deep, ",[%d%s]", i, strings.Repeat(",1", 9000))
	}
	samples := strings.Count(deep.String(), "[")
	open, shut := `[{"frame":{"name":"ROOT"},`, `}]`
	// Slices within slices, and kernels that none of them launched; all names differ.
	nested := counting(`{"ph":"X","ts":%[1]d,"dur":99999999999,"pid":1,"tid":1,"name":"%[1]d"}`, size)
	return map[string]map[string]string{
		"hatchet_msgpack": {
			"numbers":      "\x91" + node + "\xa7metrics\x81\xa1x" + array32(size) + strings.Repeat("\x01", size),
			"fractions":    "\x91" + node + "\xa7metrics\x81\xa1x" + array32(size) + "\xcb\x00\x00\x00\x00\x00\x00\x00\x01" + strings.Repeat("\x01", size-1),
			"nodes":        "\x91" + node + "\xa8children" + array32(size/14) + strings.Repeat("\x81\xa5frame\x81\xa4name\xa0", size/14),
			"metrics":      "\x91" + node + "\xa8children" + array32((size/5+3999)/4000) + metrics.String(),
			"facts":        "\x91" + node + "\xa4info" + map32(size/5) + names.String(),
			"devices":      "\x92\x81\xa5frame\x81\xa4name\xa1k\x81\xa1t" + map32(size/5) + devices.String(),
			"launches":     "\x91" + node + "\xa8launches" + array32(size) + strings.Repeat("\x80", size),
			"launch kinds": "\x91" + node + "\xaclaunch_kinds" + array32(size) + strings.Repeat("\x80", size),
			"functions":    "\x91" + node + "\xa8sampling\x81\xa9functions" + array32(size) + strings.Repeat("\x80", size),
			"samples":      "\x91" + node + "\xa7samples" + array32(size/2) + strings.Repeat("\x91\x00", size/2),
			"texts":        "\x91" + node + "\xa8sampling\x81\xa7strings" + array32(size) + strings.Repeat("\xa0", size),
		},
		"hatchet": {
			"numbers":      open + `"metrics":{"x":[0` + strings.Repeat(",1", size/2) + "]}" + shut,
			"nodes":        open + `"children":[` + counting(`{"frame":{"name":"%d"}}`, size) + "]" + shut,
			"metrics":      open + `"children":[` + counting(`{"frame":{"name":"f"},"metrics":{`+counting(`"%d":1`, 30_000)+`,"%d":1}}`, size) + "]" + shut,
			"launch kinds": open + `"launch_kinds":[{}` + strings.Repeat(",{}", size/3) + "]" + shut,
			"functions":    open + `"sampling":{"functions":[{}` + strings.Repeat(",{}", size/3) + "]}" + shut,
			"devices":      `[{"frame":{"name":"ROOT"}},{"t":{` + counting(`"%d":{}`, size) + "}}]",
			"facts":        open + `"info":{` + counting(`"%d":""`, size) + "}" + shut,
		},
		"collapsed": {"stacks": stacks.String()},
		"speedscope": {
			"stacks": `{"exporter":"goproton","shared":{"frames":[` + counting(`{"name":"%d"}`, 20_000) + `]},"profiles":[{"type":"sampled","name":"x","unit":"none","samples":[[0]` +
				deep.String() + `],"weights":[1` + strings.Repeat(",1", samples) + `]}]}`,
			"profiles": `{"shared":{"frames":[]},"profiles":[{}` + strings.Repeat(",{}", size/3) + `]}`,
			"frames":   `{"shared":{"frames":[{}` + strings.Repeat(",{}", size/3) + `]},"profiles":[]}`,
			"samples":  `{"shared":{"frames":[]},"profiles":[{"type":"sampled","unit":"none","samples":[[]` + strings.Repeat(",[]", size/5) + `],"weights":[1` + strings.Repeat(",1", size/5) + `]}]}`,
			"events":   `{"shared":{"frames":[]},"profiles":[{"type":"evented","unit":"none","events":[{}` + strings.Repeat(",{}", size/3) + `]}]}`,
		},
		"pprof": {
			"samples":   strings.Repeat("\x12\x00", size/2),
			"locations": strings.Repeat("\x22\x00", size/2),
			"labels":    strings.Repeat("\x12\x02\x1a\x00", size/4),
			"texts":     strings.Repeat("\x32\x00", size/2),
			"numbers":   strings.Repeat("\x12\x82\x08\x0a\xff\x07"+strings.Repeat("\x01", 1023), size/1029),
			"stacks":    pprofStacks(size),
		},
		"chrome_trace": {
			"nested":    `{"traceEvents":[` + nested + "]}",
			"slices":    `{"traceEvents":[` + counting(`{"ph":"X","ts":%d}`, size) + "]}",
			"processes": `{"traceEvents":[` + counting(`{"ph":"X","ts":1,"pid":%d}`, size) + "]}",
			"opened":    `{"traceEvents":[` + counting(`{"ph":"B","ts":%d}`, size) + "]}",
		},
		"perfetto": {"slices": strings.Repeat("\x0a\x08\x40\x01\x50\x01\x5a\x02\x48\x01", size/10), "packets": strings.Repeat("\x0a\x00", size/2)},
	}
}

// pprofStacks is a profile of two locations whose samples have stacks in all orders of them.
func pprofStacks(size int) string {
	var b strings.Builder
	b.WriteString("\x0a\x04\x08\x01\x10\x01\x22\x02\x08\x01\x22\x02\x08\x02\x32\x00\x32\x01x")
	for i := uint64(1); b.Len() < size; i++ {
		stack := make([]byte, 0, 1100)
		for bit := range 1000 {
			stack = append(stack, byte(1+i>>(bit%16)&1))
		}
		field := binary.AppendUvarint([]byte{0x0a}, uint64(len(stack)))
		field = append(append(field, stack...), 0x12, 1, 1)
		b.WriteByte(0x12)
		b.Write(binary.AppendUvarint(nil, uint64(len(field))))
		b.Write(field)
	}
	return b.String()
}

// TestMemoryInProportion reads files in which a few bytes stand for much. The process may have as much memory as package
// inflate says, and as much again before the garbage is collected.
func TestMemoryInProportion(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes several times the memory of what it watches")
	}
	const program = 48 << 20
	size := 1 << 20
	if testkit.All() {
		size = 2 << 20
	}
	for format, files := range dense(size) {
		for name, file := range files {
			t.Run(format+"/"+name, func(t *testing.T) {
				used, said := peak(t, format, strings.NewReader(file))
				t.Logf("%d KB take %d MB: %.150s", len(file)>>10, used>>20, said)
				if most := int64(program + 2*(inflate.Base+inflate.Multiple*len(file))); used > most {
					t.Errorf("%d KB take %d MB, more than %d", len(file)>>10, used>>20, most>>20)
				}
			})
		}
	}
}

// TestBombsFromTheAttack are the small files that took gigabytes: the densest of each format, as large as it may be, and
// packed twice.
func TestBombsFromTheAttack(t *testing.T) {
	const size, most = 100 << 20, 1 << 30
	for format, file := range map[string]io.Reader{
		"hatchet_msgpack": story("\x91\x82\xa5frame\x81\xa4name\xa1k\xa8sampling\x81\xa9functions"+array32(size), repeat("\x80", size)),
		"hatchet":         story(`[{"frame":{"name":"k"},"sampling":{"functions":[{}`, repeat(",{}", size/3), "]}}]"),
		"pprof":           repeat("\x12\x00", size/2),
		"speedscope":      story(`{"shared":{"frames":[]},"profiles":[{}`, repeat(",{}", size/3), `]}`),
		"chrome_trace":    story(`{"traceEvents":[{"ph":"B"}`, repeat(`,{"ph":"B"}`, size/11), `]}`),
	} {
		t.Run(format, func(t *testing.T) {
			var once bytes.Buffer
			w, err := pack(&once, Gzip)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(w, file); err != nil {
				t.Fatal(err)
			}
			w.Close()
			bomb := packed(t, once.Bytes(), Gzip)
			used, said := peak(t, format, bytes.NewReader(bomb))
			t.Logf("%d bytes take %d MB: %.150s", len(bomb), used>>20, said)
			if used > most {
				t.Errorf("%d bytes take %d MB", len(bomb), used>>20)
			}
		})
	}
}
