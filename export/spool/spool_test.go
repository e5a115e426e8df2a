package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func fill(size int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(make([]byte, size))
		return err
	}
}

func made(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "a", "spool")
	if err := Make(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func listed(t *testing.T, folder string) []Entry {
	t.Helper()
	list, err := List(folder)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOnlyTheUserEntersASpool(t *testing.T) {
	folder := made(t)
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Make(folder); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if err := Make(link); err == nil || !strings.Contains(err.Error(), "PROTON_PUSH_SPOOL") {
		t.Errorf("a link to a spool of another: %v", err)
	}
}

// A process whose windows are not taken keeps the newest, and counts the others.
func TestOldestAreEvicted(t *testing.T) {
	folder := made(t)
	w := NewWriter(folder, 10_000)
	begin := time.Unix(1_700_000_000, 0)
	for i := range 1000 {
		if err := w.Put(begin.Add(time.Duration(i)*time.Minute), fill(999)); err != nil {
			t.Fatal(err)
		}
	}
	list := listed(t, folder)
	if len(list) != 10 || !list[0].End.Equal(begin.Add(990*time.Minute)) || list[0].PID != os.Getpid() {
		t.Errorf("%d windows are left, the first %+v", len(list), list[0])
	}
	if s := w.Status(); s.Windows != 1000 || s.Evicted != 990 || s.Bytes != 999_000 {
		t.Errorf("status %+v", s)
	}
}

// A process remembers the windows that wait, and few of those that were sent.
func TestSentWindowsAreForgotten(t *testing.T) {
	folder := made(t)
	w := NewWriter(folder, ProcessLimit)
	begin := time.Unix(1_700_000_000, 0)
	put := func(i int) {
		if err := w.Put(begin.Add(time.Duration(i)*time.Minute), fill(9)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		put(i)
	}
	waits := listed(t, folder)[100].Path
	for _, e := range listed(t, folder) {
		if e.Path != waits {
			os.Remove(e.Path)
		}
	}
	for i := range 300 {
		put(300 + i)
		os.Remove(w.kept[len(w.kept)-1].path)
	}
	if n := len(w.kept); n > 2*fewKept || w.kept[0].path != waits {
		t.Errorf("%d windows are remembered, the first %s; one waits: %s", n, w.kept[0].path, waits)
	}
	if s := w.Status(); s.Windows != 600 || s.Evicted != 0 {
		t.Errorf("status %+v", s)
	}
}

// What a sender sends is neither evicted nor listed, and waits again when that sender dies.
func TestClaims(t *testing.T) {
	folder := made(t)
	w := NewWriter(folder, 1500)
	now := time.Now()
	if err := w.Put(now, fill(1000)); err != nil {
		t.Fatal(err)
	}
	e := listed(t, folder)[0]
	if !e.Claim() {
		t.Fatal("not claimed")
	}
	e.SentPart()
	e.SentPart()
	if err := w.Put(now.Add(time.Second), fill(1000)); err != nil {
		t.Fatal(err)
	}
	if list := listed(t, folder); len(list) != 1 || w.Status().Evicted != 0 {
		t.Fatalf("%+v, %+v", list, w.Status())
	}
	held, ok, err := Lock(folder)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer held.Release()
	list := listed(t, folder)
	if len(list) != 2 || list[0].Name != e.Name || list[0].Sent != 2 || list[1].Sent != 0 {
		t.Errorf("%+v", list)
	}
	if list[0].Claim(); list[0].Remove() != nil {
		t.Error("it cannot be deleted")
	}
	gone := list[1]
	if err := os.Remove(gone.Path); err != nil || gone.Claim() {
		t.Error("a window that is gone was claimed")
	}
}

func TestOneSender(t *testing.T) {
	folder := made(t)
	held, ok, err := Lock(folder)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, ok, err := Lock(folder); ok || err != nil {
		t.Errorf("two senders: %v, %v", ok, err)
	}
	held.Release()
	held, ok, err = Lock(folder)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	held.Release()
}

// What a process was writing when it was killed is deleted by a later sender, and what another writes now is not.
func TestHalfWrittenWindowsAreDeleted(t *testing.T) {
	folder := made(t)
	write := func(name string, age time.Duration) string {
		path, at := filepath.Join(folder, name), time.Now().Add(-age)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := write(".1-2-3.window.2-0123abcd.tmp", 2*abandonedAfter)
	recent := write(".1-2-4.window.2-0123abcd.tmp", 0)
	waits := write("1-2-5.window", 2*abandonedAfter)
	held, ok, err := Lock(folder)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	held.Release()
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", old, err)
	}
	for _, path := range []string{recent, waits} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestTrim(t *testing.T) {
	folder := made(t)
	for i := range 20 {
		name := fmt.Sprintf("%019d-%d-1%s", i, 100+i, suffix)
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"status.json", "x.window", "1-2.window", "1-2-3-4-5.window", "1-b-3.window"} {
		if err := os.WriteFile(filepath.Join(folder, other), make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := Trim(folder, 500); n != 15 {
		t.Errorf("%d were deleted, want 15", n)
	}
	if list := listed(t, folder); len(list) != 5 || list[0].PID != 115 {
		t.Errorf("%+v", list)
	}
}

func TestWindowThatCannotBeWritten(t *testing.T) {
	folder := made(t)
	w := NewWriter(folder, 1000)
	full := errors.New("no space left")
	if err := w.Put(time.Now(), func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if files, _ := os.ReadDir(folder); len(files) != 0 || w.Status().Windows != 0 { //nolint:errcheck // the next line says it
		t.Errorf("left: %v, %+v", files, w.Status())
	}
}
