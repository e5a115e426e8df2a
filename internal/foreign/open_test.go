//go:build unix

package foreign

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpenWaitsForNoWriterForEver: a pipe is read whole whether its writer comes before or after its reader, and however slowly it
// writes; a pipe without a writer, and a device, fail.
func TestOpenWaitsForNoWriterForEver(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	read := func(path string, patience time.Duration) (string, error) {
		f, err := open(path, patience)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		return string(text), err
	}
	if text, err := read(path, 30*time.Millisecond); err == nil || !strings.Contains(err.Error(), "no program has written") {
		t.Errorf("without a writer: %q, %v", text, err)
	}
	for _, late := range []time.Duration{0, 60 * time.Millisecond} {
		done := make(chan error, 1)
		go func() {
			time.Sleep(late)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				time.Sleep(100 * time.Millisecond) // longer than the reader's patience after its start
				_, err = f.WriteString("first ")
				time.Sleep(20 * time.Millisecond)
				_, _ = f.WriteString("second")
				f.Close()
			}
			done <- err
		}()
		patience := 5 * time.Second
		if text, err := read(path, patience); text != "first second" || err != nil {
			t.Errorf("a writer that comes after %v: %q, %v", late, text, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	device := filepath.Join(folder, "zero")
	if err := os.Symlink("/dev/zero", device); err != nil {
		t.Fatal(err)
	}
	if _, err := read(device, time.Second); err == nil || !strings.Contains(err.Error(), "it is a device") {
		t.Errorf("a device: %v", err)
	}
	if text, err := read(os.DevNull, time.Second); text != "" || err != nil {
		t.Errorf("%s: %q, %v", os.DevNull, text, err)
	}
	plain := filepath.Join(folder, "file")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(plain); err != nil {
		t.Error(err)
	} else if _, file := f.(*os.File); !file {
		t.Error("a plain file cannot be read at several places")
	}
	if _, err := Open(filepath.Join(folder, "none")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}
