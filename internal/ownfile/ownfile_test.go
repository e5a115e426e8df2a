//go:build linux

package ownfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/testkit"
)

// taken gives the descriptor of f to a file of the program.
func taken(t *testing.T, f *File) *os.File {
	t.Helper()
	program, err := os.Create(filepath.Join(t.TempDir(), "program's"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	if err := unix.Dup2(int(program.Fd()), f.fd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(f.fd) })
	return program
}

func TestAFileWhoseDescriptorTheProgramCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours")
	f, err := Open(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, text := range []string{"one, ", "two, ", "three"} {
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		unix.Close(f.fd)
	}
	if got := testkit.Read(t, path); got != "one, two, three" {
		t.Errorf("got %q", got)
	}
}

func TestAFileWhoseDescriptorTheProgramUses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours")
	f, err := Open(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	program := taken(t, f)
	before := f.fd
	if _, err := f.Write([]byte("ours")); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2); err != nil {
		t.Fatal(err)
	}
	if got := testkit.Read(t, path); got != "ou" {
		t.Errorf("our file has %q", got)
	}
	if got := testkit.Read(t, program.Name()); got != "" {
		t.Errorf("the program's file has %q", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := status(before); err != nil {
		t.Errorf("the program's descriptor %d was closed: %v", before, err)
	}
}

// If the name leads elsewhere, nothing is written and nothing is closed.
func TestAFileThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours")
	f, err := Open(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	program := taken(t, f)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("ours")); !errors.Is(err, ErrTaken) {
		t.Errorf("a file whose name is gone: %v", err)
	}
	if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("ours")); !errors.Is(err, ErrTaken) {
		t.Errorf("a file whose name is another's: %v", err)
	}
	number := f.fd
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := status(number); err != nil {
		t.Errorf("the program's descriptor was closed: %v", err)
	}
	if got := testkit.Read(t, path) + testkit.Read(t, program.Name()); got != "another" {
		t.Errorf("written elsewhere: %q", got)
	}
}

// A program that closes its standard input and opens a file gets that number: a File does not take it.
func TestNumbersWithAMeaning(t *testing.T) {
	f, err := Open(filepath.Join(t.TempDir(), "ours"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.fd < lowest {
		t.Errorf("descriptor %d", f.fd)
	}
}

// A write beyond the limit fails, without the signal that would end the program.
func TestFileSizeLimit(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	f, err := Open(filepath.Join(t.TempDir(), "ours"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(make([]byte, 5000))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EFBIG) {
		t.Errorf("got %v, want EFBIG", err)
	}
}

// A non-blocking pipe takes as much as it has room for, and the rest once it is read.
func TestStandardOutputThatDoesNotBlock(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	text := bytes.Repeat([]byte("0123456789"), 50_000)
	read := make(chan []byte)
	go func() {
		unix.SetNonblock(pipe[0], false)
		got, buffer := []byte(nil), make([]byte, 1<<16)
		for {
			n, err := unix.Read(pipe[0], buffer)
			if n <= 0 || err != nil {
				break
			}
			got = append(got, buffer[:n]...)
		}
		read <- got
	}()
	n, err := Standard(pipe[1]).Write(text)
	unix.Close(pipe[1])
	if got := <-read; err != nil || n != len(text) || !bytes.Equal(got, text) {
		t.Errorf("wrote %d of %d bytes, %d were read: %v", n, len(text), len(got), err)
	}
}

// Without a reader the write fails. With os.Stdout it would end the process.
func TestStandardOutputWithoutAReader(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if _, err := Standard(pipe[1]).Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
		t.Errorf("got %v, want EPIPE", err)
	}
}

// A program that takes the number before raise does keeps it, and its file is not mistaken for the File's.
func TestANumberThatIsTakenAtOnce(t *testing.T) {
	folder := t.TempDir()
	ours, theirs := filepath.Join(folder, "ours"), filepath.Join(folder, "theirs")
	for _, name := range []string{ours, theirs} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(theirs, unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	high, err := raise(fd, ours)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(high)
	if leadsTo(high, ours) || !leadsTo(fd, theirs) {
		t.Error("the program's descriptor is closed, or its file is ours")
	}
	if fd, err = unix.Open(ours, unix.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	raised, err := raise(fd, ours)
	if err != nil || !leadsTo(raised, ours) || leadsTo(fd, ours) {
		t.Errorf("error %v", err)
	}
	unix.Close(raised)
}
