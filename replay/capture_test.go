package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/testkit"
)

// file writes captures for tests.
type file struct{ bytes.Buffer }

func newFile() *file {
	f := &file{}
	f.WriteString(magic)
	return f
}

func numbersOf(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func (f *file) event(t Type, thread uint64, payload ...byte) *file {
	f.WriteByte(byte(t))
	f.Write(numbersOf(thread, uint64(len(payload))))
	f.Write(payload)
	return f
}

func (f *file) string(s string) *file { return f.event(String, 1, []byte(s)...) }

// kernelRecord is a record of CUPTI 13.0 with its name's number in it.
func kernelRecord(name, correlation int) []byte {
	b := make([]byte, 216)
	binary.LittleEndian.PutUint32(b, concurrentKernel)
	binary.LittleEndian.PutUint64(b[startAt:], 1000)
	binary.LittleEndian.PutUint64(b[endAt:], 1700)
	binary.LittleEndian.PutUint32(b[corrAt:], uint32(correlation))
	binary.LittleEndian.PutUint64(b[104:], uint64(name))
	return b
}

func sample() *file {
	f := newFile().string("/lib/libcupti.so.13").string("x86_64").string("NVIDIA H200").string("add").string("train")
	f.event(MachineOf, 1, numbersOf(130000, 13000, 1, 1763700000, 2)...)
	f.event(Device, 1, numbersOf(0, 3, 9, 0, 132, 1980000, 3201000, 6144)...)
	f.event(ScopeEnter, 1, numbersOf(5, 7, 1)...)
	f.event(Callback, 1, append(numbersOf(1, 307, 0, 41, 0x7f00, 1, 4, 0, 0, 64), append(make([]byte, 64), 0)...)...)
	f.event(Callback, 1, numbersOf(1, 307, 1, 41, 0x7f00, 1, 4, 0, 0, 0, 0)...)
	f.event(Buffer, 2, append(numbersOf(0, 4096, 1, concurrentKernel, 216, 104), kernelRecord(4, 41)...)...)
	f.event(Python, 1, numbersOf(2, 5, 4)...)
	f.event(ScopeExit, 1, numbersOf(7, 1)...)
	f.event(End, 1, numbersOf(13)...)
	return f
}

func TestReadAndDump(t *testing.T) {
	const want = `1 machine: CUPTI 130000, CUDA 13.0, x86_64, 2025-11-21
1 device 0: "NVIDIA H200", compute capability 9.0, 132 SMs
1 scope "train" as 7.1
1 callback 1:307 enter add, correlation 41, context #1
1 callback 1:307 exit = 0 add, correlation 41, context #1
2 buffer of 1 records
    kernel add, correlation 41, 700 ns
1 python train > add
1 scope 7.1 ends
1 end of 13 events
`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(sample().Bytes())
	z.Close()
	for name, data := range map[string][]byte{"plain": sample().Bytes(), "gzip": packed.Bytes()} {
		c, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := c.dump(); got != want || !c.Whole {
			t.Errorf("%s: whole %v, got\n%s\nwant\n%s", name, c.Whole, got, want)
		}
		if d := c.Machine.Devices; len(d) != 1 || d[0].Name != "NVIDIA H200" || d[0].BusBits != 6144 {
			t.Errorf("%s: devices %+v", name, d)
		}
	}
}

// checkSynthetic looks at the recording of a fake MI300X.
func checkSynthetic(t *testing.T, file string, c *Capture) {
	t.Helper()
	m := c.Machine
	if !c.Whole || m.Backend != "rocprofiler" || m.Tracer != 10201 || m.Driver != 60342133 || len(m.Devices) != 1 || len(m.Nodes) != 2 {
		t.Errorf("%s: whole %v, %+v", file, c.Whole, m)
		return
	}
	if d := m.Devices[0]; d.Name != "AMD Instinct MI300X" || d.Arch != "gfx942:sramecc+:xnack-" || d.SMs != 304 || d.Memory != 192<<30 {
		t.Errorf("%s: device %+v", file, d)
	}
}

// TestRealCaptures reads the recordings of an H200 to the last field.
func TestRealCaptures(t *testing.T) {
	files, err := filepath.Glob("../testdata/captures/*.capture.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in testdata: %v", err)
	}
	for _, file := range files {
		c, err := Open(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if m := c.Machine; m.Backend != "cupti" {
			checkSynthetic(t, file, c)
			continue
		} else if c.has(Lines) { // without records of kernels; these were recorded when a flush of records alone wrote the GPUs
			continue
		} else if !c.Whole || len(m.Devices) == 0 || !strings.HasPrefix(m.Devices[0].Name, "NVIDIA") || m.Backend != "cupti" || m.Tracer < 18 || m.Driver < 11000 {
			t.Errorf("%s: whole %v, %+v", file, c.Whole, m)
		}
		text := c.dump()
		for _, bad := range []string{"(cut short)", "unknown event"} {
			if at := strings.Index(text, bad); at >= 0 {
				t.Errorf("%s: %s: …%s", file, bad, text[max(0, at-200):at])
			}
		}
		if kernels := strings.Count(text, "\n    kernel "); kernels < 8 {
			t.Errorf("%s: %d kernels", file, kernels)
		}
	}
}

func TestCutOff(t *testing.T) {
	data := sample().Bytes()
	for cut := len(magic); cut < len(data); cut++ {
		c, err := Read(bytes.NewReader(data[:cut]))
		if err != nil || c.Whole {
			t.Fatalf("cut at %d of %d: whole %v, %v", cut, len(data), c != nil && c.Whole, err)
		}
	}
}

func TestNotACapture(t *testing.T) {
	for name, data := range map[string]string{"empty": "", "text": "hello", "gzip of nothing": "\x1f\x8b", "short": magic[:4]} {
		if _, err := Read(strings.NewReader(data)); !errors.Is(err, ErrNotCapture) {
			t.Errorf("%s: %v", name, err)
		}
	}
	damaged := newFile().event(ScopeExit, 1<<40).Bytes()
	if _, err := Read(bytes.NewReader(damaged)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("thread out of range: %v", err)
	}
}

// FuzzRead: whatever a file holds, reading and dumping end, and events account for no more bytes than it has.
func FuzzRead(f *testing.F) {
	f.Add(sample().Bytes())
	f.Add(newFile().event(Buffer, 1, numbersOf(0, 0, 1, 10, 0, 104)...).Bytes())
	f.Add([]byte(magic))
	f.Add(newFile().string("rocprofiler").string("gfx942").event(MachineOf, 1, numbersOf(10201, 60342133, 0, 1763700000, 0, 1, 0)...).
		event(Device, 1, numbersOf(0, 1, 0, 0, 304, 2100000, 1300000, 8192, 2, 1<<37, 64, 0)...).event(NodeOf, 1, numbersOf(1, 1, 0, 49152, 7001, 0)...).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		total := 0
		for _, e := range c.Events {
			total += len(e.Payload)
		}
		if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) && total > len(data) {
			t.Fatalf("%d bytes of events in a file of %d", total, len(data))
		}
		c.dump()
	})
}

// A capture that unpacks to hundreds of times its size is refused before it fills the memory or the disk.
func TestBomb(t *testing.T) {
	packed := testkit.Packed(t, io.MultiReader(strings.NewReader(magic), testkit.Zeros(32<<20)), "g")
	if _, err := Read(bytes.NewReader(packed)); !errors.Is(err, inflate.ErrRatio) {
		t.Errorf("a small file of zeros: %v, want %v", err, inflate.ErrRatio)
	}
}

// TestWriter: a capture names its writer, and one of a newer form of the format is refused by that name.
func TestWriter(t *testing.T) {
	first := func(magic string) *bytes.Buffer {
		f := &file{}
		f.WriteString(magic)
		return &f.event(Writer, 0, []byte("goproton 99.1.0+b942568")...).string("new").Buffer
	}
	c, err := Read(first(magic))
	if err != nil || c.Writer != "goproton 99.1.0+b942568" || len(c.Events) != 0 {
		t.Errorf("Read = %+v, %v", c, err)
	}
	_, err = Read(first(name + "\x02"))
	if want := "version 2 of the format, and this program reads version 1: written by goproton 99.1.0; this is "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Read of version 2: %v, want %s…", err, want)
	}
	_, err = Read(bytes.NewBufferString(name + "\x02"))
	if want := "install another GoProton"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Read of version 2 without a writer: %v, want %s", err, want)
	}
}
