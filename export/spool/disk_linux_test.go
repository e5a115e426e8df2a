package spool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A spool that a user deletes is made again by the next window, and another sender can take it over.
func TestDeletedSpool(t *testing.T) {
	folder := made(t)
	w := NewWriter(folder, ProcessLimit)
	put := func() {
		if err := w.Put(time.Now(), fill(10)); err != nil {
			t.Fatal(err)
		}
	}
	put()
	old, ok, err := Lock(folder)
	if err != nil || !ok || !old.Stands() {
		t.Fatal(ok, err)
	}
	defer old.Release()
	if err := os.RemoveAll(filepath.Dir(folder)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Lock(folder); err == nil || old.Stands() {
		t.Errorf("a lock of no folder: %v", err)
	}
	put()
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm() != 0o700 || len(listed(t, folder)) != 1 {
		t.Errorf("the new spool: %v, %v", info, err)
	}
	held, ok, err := Lock(folder)
	if err != nil || !ok || !held.Stands() || old.Stands() {
		t.Fatalf("the lock of the new spool: %v, %v", ok, err)
	}
	held.Release()
}

// TestFullDisk runs itself again in a mount namespace of its own, where the spool is on a file system of 64 KiB.
func TestFullDisk(t *testing.T) {
	const inside = "GOPROTON_TEST_SPOOL"
	if folder := os.Getenv(inside); folder != "" {
		fullDisk(t, folder)
		return
	}
	c := exec.Command("/proc/self/exe", "-test.run", "^TestFullDisk$", "-test.v")
	c.Env = append(os.Environ(), inside+"="+made(t))
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	switch text := string(out); {
	case err != nil && len(out) == 0:
		t.Skipf("needs a user namespace: %v", err)
	case strings.Contains(text, "--- SKIP"):
		t.Skip(text)
	case err != nil || !strings.Contains(text, "--- PASS"):
		t.Errorf("%v\n%s", err, text)
	}
}

// fullDisk fills a spool's disk, and makes room again. Windows are there whole or not at all.
func fullDisk(t *testing.T, folder string) {
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skipf("needs a file system in a mount namespace: %v", err)
	}
	w, now, written := NewWriter(folder, ProcessLimit), time.Now(), 0
	put := func() error { return w.Put(now.Add(time.Duration(w.next)*time.Second), fill(10_000)) }
	var err error
	for err == nil {
		if err = put(); err == nil {
			written++
		}
	}
	if written == 0 || written > 6 || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room there") {
		t.Fatalf("%d windows, then: %v", written, err)
	}
	list := listed(t, folder)
	files, err := os.ReadDir(folder)
	if err != nil || len(list) != written || len(files) != written || list[0].Size != 10_000 || w.Status().Windows != int64(written) {
		t.Errorf("%d windows of %d, %d files, %v, %+v", len(list), written, len(files), err, w.Status())
	}
	held, ok, err := Lock(folder) // a sender can empty the spool all the same
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer held.Release()
	if !list[0].Claim() || list[0].Remove() != nil {
		t.Error("a window cannot be sent")
	}
	if err := put(); err != nil {
		t.Errorf("after one was sent: %v", err)
	}
}
