package reproduce

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWarm: scripts are forked from one process, run as those of their own do, and end as those do.
func TestWarm(t *testing.T) {
	folder := t.TempDir()
	w := &Warm{Socket: filepath.Join(folder, "socket"), Idle: 5 * time.Second}
	parent := filepath.Join(folder, "parent")
	var parents []string
	for range 2 {
		a := benchmarkScript(t, "A", "out.put([1, 2, 3]); open('"+parent+"', 'w').write(str(__import__('os').getppid()) + ' ' + __import__('os').environ['MINE'])")
		a.Warm, a.Env = w, append(a.Env, "MINE=here")
		b := *a
		p, err := Start(a, &b)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := Detect(p, 0.5, 60, 1, func(string) {}); err != nil || d.Outcome != "not slower" || !p.Against[0].OK {
			t.Errorf("%+v, %v", d, err)
		}
		p.End()
		text, err := os.ReadFile(parent)
		if err != nil {
			t.Fatal(err)
		}
		parents = append(parents, string(text))
	}
	number, here, _ := strings.Cut(parents[0], " ")
	if parents[0] != parents[1] || number == strconv.Itoa(os.Getpid()) || here != "here" {
		t.Errorf("the processes are of %q", parents)
	}
	failing := benchmarkScript(t, "B", "__import__('sys').exit('the GPU is gone')")
	failing.Warm = w
	if _, err := Start(failing, failing); err == nil || !strings.Contains(err.Error(), "the GPU is gone") {
		t.Errorf("a script that fails: %v", err)
	}
	hanging := benchmarkScript(t, "C", "open('"+parent+"', 'w').write(str(__import__('os').getpid())); __import__('time').sleep(600)")
	hanging.Warm = &Warm{Socket: filepath.Join(folder, "other"), Idle: 100 * time.Millisecond}
	os.Remove(parent)
	v, err := serve(hanging, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it runs", func() bool { text, err := os.ReadFile(parent); return err == nil && len(text) > 0 })
	text, _ := os.ReadFile(parent)
	time.Sleep(500 * time.Millisecond)
	if _, err := os.Stat("/proc/" + string(text)); err != nil {
		t.Error("what works is ended when nothing else came")
	}
	v.end()
	until(t, "what hangs is ended", func() bool {
		_, err := os.Stat("/proc/" + string(text))
		return err != nil
	})
	until(t, "it ends without work", func() bool { _, err := os.Stat(hanging.Warm.Socket); return err != nil })
}

// TestWarmWithoutTorch: where torch cannot be imported, the script says so as always.
func TestWarmWithoutTorch(t *testing.T) {
	a := benchmarkScript(t, "A", "pass")
	a.Env = append(a.Env, "PYTHONPATH="+t.TempDir())
	a.Warm = &Warm{Socket: filepath.Join(t.TempDir(), "socket"), Idle: 100 * time.Millisecond}
	if _, err := Start(a, a); err == nil || !strings.Contains(err.Error(), "has no torch: --python names one") {
		t.Error(err)
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it is not so that " + what)
}
