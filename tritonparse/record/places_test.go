package record

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/gpu/vendortest"
	"github.com/goproton/goproton/internal/testkit"
)

// Places that a trace cannot be written to, or not any more.

// sayings are what a Log says, from several goroutines.
type sayings struct {
	sync.Mutex
	all []string
}

func (s *sayings) complain(what string) {
	s.Lock()
	defer s.Unlock()
	s.all = append(s.all, what)
}

// sofar is what was said until now. The writer may still say something.
func (s *sayings) sofar() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.all)
}

func beginIn(t *testing.T, o Options) (*Log, *sayings) {
	t.Helper()
	t.Setenv("USER", "me")
	said := new(sayings)
	l, err := Begin(o, said.complain)
	if err != nil {
		t.Fatal(err)
	}
	return l, said
}

func pipe(t *testing.T, path string) string {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Skipf("needs named pipes: %v", err)
	}
	return path
}

// What is in a pipe is the program's, and reading it could take for ever.
func TestSourcesThatAreNotFiles(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "x.py")
	if err := os.WriteFile(file, []byte("one\n  two\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var s sourceLines
	for path, want := range map[string]string{file: "two", pipe(t, filepath.Join(folder, "pipe")): "", folder: "", "/dev/zero": ""} {
		if got := s.line(path, 2); got != want {
			t.Errorf("%s:2 is %q, want %q", path, got, want)
		}
	}
}

// A file system that does not answer, as one of a network can, must not keep the program from ending.
func TestAFileSystemThatDoesNotAnswer(t *testing.T) {
	folder, statusFolder := t.TempDir(), t.TempDir()
	before := writePatience
	writePatience = 50 * time.Millisecond
	defer func() { writePatience = before }()
	said := new(sayings)
	s := Service{Complain: said.complain}
	t.Setenv("USER", "me")
	call := func(method string, params any) (string, error) {
		request, _ := json.Marshal(params)
		answer, err := s.Call(method, request)
		return string(answer), err
	}
	o := Options{Folder: folder, Compression: "none", Status: statusFolder}
	if _, err := call("trace.begin", o); err != nil {
		t.Fatal(err)
	}
	l := s.log
	out := pipe(t, filepath.Join(folder, l.header.outputName(noRank))) // opening it waits for a reader
	p := producer{log: l}
	p.launch(t, 1)
	answer, err := call("trace.end", map[string]float64{"patience": 0})
	if err != nil || !strings.Contains(answer, `"launches":0`) {
		t.Errorf("%s, %v", answer, err)
	}
	if said := said.sofar(); len(said) != 1 || !strings.Contains(said[0], "does not answer") {
		t.Errorf("said %q", said)
	}
	if sum, err := ReadSummary(statusFolder); err != nil || len(sum.Problems) != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if _, err := call("trace.begin", o); err == nil || !strings.Contains(err.Error(), "still being written") {
		t.Errorf("another one: %v", err)
	}
	reader, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	<-l.done
	_ = reader.Close()
	writePatience = before
	if _, err := call("trace.begin", Options{Folder: t.TempDir(), Compression: "none"}); err != nil {
		t.Errorf("another one, when it answers again: %v", err)
	}
	if _, err := call("trace.end", map[string]float64{"patience": 0}); err != nil {
		t.Error(err)
	}
}

// launchAndRemove removes the folder once a launch is written to it.
func (p *producer) launchAndRemove(t *testing.T, folder string) {
	t.Helper()
	p.launch(t, 1)
	p.written(t, 1)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
}

// Programs tidy the folder that they write into, even after they began: what comes afterwards is written, and the rest reported.
func TestAFolderThatIsRemoved(t *testing.T) {
	for _, compression := range []string{"zstd", "gzip", "none"} {
		folder := filepath.Join(t.TempDir(), "traces")
		l, said := beginIn(t, Options{Folder: folder, Compression: compression})
		p := producer{log: l}
		p.launchAndRemove(t, folder)
		p.launch(t, 2)
		p.launch(t, 3)
		l.End(testkit.Patience())
		if n := len(records(t, folder)); n != 2 {
			t.Errorf("%s: %d launches, want the two that came afterwards", compression, n)
		}
		if len(said.all) != 1 || !strings.Contains(said.all[0], "was removed or moved") {
			t.Errorf("%s: said %q", compression, said.all)
		}
	}
}

func TestAFolderThatIsRemovedAtTheEnd(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "traces")
	l, said := beginIn(t, Options{Folder: folder, Compression: "zstd"})
	p := producer{log: l}
	p.launchAndRemove(t, folder)
	l.End(testkit.Patience())
	if len(said.all) != 1 || !strings.Contains(said.all[0], "was removed or moved") {
		t.Errorf("said %q", said.all)
	}
}

func TestBinariesThatCannotBeStored(t *testing.T) {
	folder := t.TempDir()
	l, said := beginIn(t, Options{Folder: folder, Compression: "none"})
	if err := os.WriteFile(filepath.Join(folder, "cubins"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	cubin := filepath.Join(t.TempDir(), "k.cubin")
	if err := os.WriteFile(cubin, []byte("binary"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.Event(fmt.Appendf(nil, `{"event_type":"compilation","files":[{"name":"k.cubin","path":%q}],"binary":"k.cubin"}`, cubin))
	}
	if counts := l.End(testkit.Patience()); counts.Compilations != 2 {
		t.Errorf("%+v", counts)
	}
	if len(said.all) != 1 || !strings.Contains(said.all[0], "store binaries in") || strings.Count(said.all[0], "cubins") != 1 {
		t.Errorf("said %q", said.all)
	}
}

func TestWhy(t *testing.T) {
	got := []string{}
	for _, code := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS} {
		got = append(got, why(&fs.PathError{Op: "write", Path: "/p", Err: code}))
	}
	want := []string{"the disk is full", "the disk quota is used up", "no file may be larger (ulimit -f)", "read-only file system"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// What a process said of itself is kept when another completes its trace.
func TestProblemsOfAProcessStay(t *testing.T) {
	folder := t.TempDir()
	status{Problems: []string{"one", "two"}}.write(folder, 7)
	status{Counts: Counts{Launches: 3}, Problems: []string{"two", "three"}}.write(folder, 7)
	sum, err := ReadSummary(folder)
	if err != nil || sum.Launches != 3 || sum.Processes != 1 || !slices.Equal(sum.Problems, []string{"one", "two", "three"}) {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A bug in the writing goroutine costs the trace, and not the program.
func TestAPanicOfTheWriter(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("USER", "me")
	l, err := Begin(Options{Folder: folder, Compression: "none"}, func(string) { panic("unexpected") })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(folder, l.header.outputName(noRank))); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	p := producer{log: l}
	const many = 100_000 // more than the ring has room for
	for i := range int64(many) {
		p.launch(t, i)
	}
	if counts := l.End(testkit.Patience()); counts.Launches != 0 || counts.Lost != many {
		t.Errorf("%+v", counts)
	}
}

// TestBinariesOfASecondVendor: the vendor's format lists the machine code, where a disassembler for it was found.
func TestBinariesOfASecondVendor(t *testing.T) {
	vendortest.Add(t)
	compiled := t.TempDir()
	for _, name := range []string{"k.syn", "k.other"} {
		if err := os.WriteFile(filepath.Join(compiled, name), []byte(vendortest.Binary), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, tool, want string
	}{
		{"k.syn", "syndis", `"k.synasm":"listing of k.syn by syndis"`},
		{"k.syn", "", `"file_content":{}`},
		{"k.other", "syndis", `"file_content":{}`},
	} {
		h := header{Options: Options{Folder: t.TempDir(), Disassemblers: map[string]string{"syn": c.tool}}}
		text := fmt.Appendf(nil, `{"event_type":"compilation","files":[{"name":%q,"path":%q}],"binary":%q}`, c.name, filepath.Join(compiled, c.name), c.name)
		done := h.complete(text, nil)
		stored := fmt.Sprintf(`"cubin":"cubins/%s%s"`, vendors.ImageName([]byte(vendortest.Binary)), filepath.Ext(c.name))
		if line := string(done.line); done.err != nil || !strings.Contains(line, c.want) || !strings.Contains(line, stored) {
			t.Errorf("%s with %q: %s %v, want %s and %s", c.name, c.tool, line, done.err, c.want, stored)
		}
	}
}
