package formats

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk writes every format to a file system that has no room for it. An older file stays, nothing else does, and the
// error says what to do. The file system is a tmpfs in a mount namespace of a process of its own.
func TestFullDisk(t *testing.T) {
	const variable = "GOPROTON_TEST_FULL_DISK"
	if folder := os.Getenv(variable); folder != "" {
		fillDisk(t, folder)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v="+map[bool]string{true: "true", false: "false"}[testing.Verbose()])
	cmd.Env = append(os.Environ(), variable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var ran *exec.ExitError
	switch text := string(out); {
	case err != nil && !errors.As(err, &ran):
		t.Skipf("no mount namespace: %v", err)
	case strings.Contains(text, cannotMount):
		t.Skip("needs to mount a file system: " + text)
	case err != nil || !strings.Contains(text, "PASS"):
		t.Errorf("%v\n%s", err, text)
	}
}

const cannotMount = "a file system cannot be mounted here"

func fillDisk(t *testing.T, folder string) {
	if err := errors.Join(syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=128k")); err != nil {
		t.Fatalf("%s: %v", cannotMount, err)
	}
	p := large()
	for _, free := range []int{0, 1, 8} { // pages
		for _, target := range targets() {
			name := "run" + target.Format.Suffixes[0] + target.Compression.Suffix()
			path := filepath.Join(folder, name)
			for _, old := range []string{"", "an older profile"} {
				if old != "" {
					mustWrite(t, path, []byte(old))
				}
				filler := filepath.Join(folder, "filler")
				fillUp(t, filler, free)
				err := target.WriteFile(path, p)
				if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "make room there") {
					t.Errorf("%s, %d pages free: error %v", name, free, err)
				}
				left, err := os.ReadFile(path)
				if string(left) != old || (old == "") != errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s, %d pages free: %d bytes are left under its name, error %v", name, free, len(left), err)
				}
				os.Remove(path)
				os.Remove(filler)
				if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
					t.Fatalf("%s, %d pages free: %v is left, error %v", name, free, entries, err)
				}
			}
		}
	}
}

// fillUp leaves so many pages.
func fillUp(t *testing.T, path string, pages int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := bytes.Repeat([]byte{1}, 4096)
	size := int64(0)
	for err == nil {
		_, err = f.Write(page)
		size += int64(len(page))
	}
	if !errors.Is(err, syscall.ENOSPC) || f.Truncate(max(0, size-int64((pages+1)*len(page)))) != nil {
		t.Fatalf("fill the disk: %v", err)
	}
}

func mustWrite(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}
