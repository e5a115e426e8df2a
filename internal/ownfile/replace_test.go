package ownfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func only(t *testing.T, dir string, want int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != want {
		t.Errorf("%d entries in the folder, want %d: a temporary file was left", len(entries), want)
	}
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.hatchet")
	for _, s := range []string{"first, longer", "second"} {
		if err := Replace(path, text(s)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != s {
			t.Errorf("content %q, want %q", got, s)
		}
	}
	only(t, dir, 1)
}

// A process that must end at once leaves no file behind that it was writing, and what still writes is ended.
func TestAbandon(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.hatchet")
	err := Replace(path, func(w io.Writer) error {
		only(t, dir, 1)
		if _, err := io.WriteString(w, "x"); err != nil {
			t.Error(err)
		}
		Abandon()
		only(t, dir, 0)
		_, err := io.WriteString(w, "x")
		return err
	})
	if !errors.Is(err, ErrAbandoned) {
		t.Errorf("the write was abandoned, got %v", err)
	}
	if err := Replace(path, func(io.Writer) error { Abandon(); return nil }); !errors.Is(err, ErrAbandoned) {
		t.Errorf("nothing is put in place after Abandon, got %v", err)
	}
	only(t, dir, 0)
	if err := Replace(path, text("later")); err != nil || content(t, path) != "later" {
		t.Errorf("a write after Abandon: %v", err)
	}
	os.Remove(path)
	if err := Replace(filepath.Join(dir, "gone", "p.hatchet"), text("x")); err == nil || err.Error() != "write "+filepath.Join(dir, "gone", "p.hatchet")+": no such file or directory" {
		t.Errorf("the passing name is in %q", err)
	}
}

// What a process was writing that is killed is removed by its parent, and nothing else.
func TestRemoveLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	err := Replace(filepath.Join(dir, "p.hatchet"), func(io.Writer) error {
		RemoveLeft(dir, os.Getpid()+1)
		only(t, dir, 1)
		RemoveLeft(dir, os.Getpid())
		only(t, dir, 0)
		return errors.New("killed")
	})
	if err == nil {
		t.Error("no error")
	}
}

func TestFailureKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.hatchet")
	if err := Replace(path, text("old")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Replace(path, func(w io.Writer) error {
		io.WriteString(w, "half of the new one")
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want the cause", err)
	}
	if got := content(t, path); got != "old" {
		t.Errorf("content %q after a failed write, want the old one", got)
	}
	only(t, dir, 1)
}

func TestModeFollowsTheUmask(t *testing.T) {
	dir := t.TempDir()
	plain, ours := filepath.Join(dir, "plain"), filepath.Join(dir, "ours")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Replace(ours, text("")); err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(plain)
	b, _ := os.Stat(ours)
	if a.Mode() != b.Mode() {
		t.Errorf("mode %v, want %v as any new file has", b.Mode(), a.Mode())
	}
}

func TestLinkStaysAndTargetIsReplaced(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip("symbolic links are missing here:", err)
	}
	if err := Replace(link, text("new")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, target); got != "new" {
		t.Errorf("target holds %q, want new", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
}

func TestDeviceIsWrittenInPlace(t *testing.T) {
	if _, err := os.Stat(os.DevNull); err != nil {
		t.Skip("no", os.DevNull)
	}
	if err := Replace(os.DevNull, text("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s was replaced by a file", os.DevNull)
	}
}

func TestFolderIsRefused(t *testing.T) {
	if err := Replace(t.TempDir(), text("x")); err == nil {
		t.Error("a folder was accepted as a file name")
	}
}
