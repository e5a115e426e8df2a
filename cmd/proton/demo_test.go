package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// The profile of the demo is the replay of the recorded run, with the text of its program; -update writes it.
func TestDemoIsTheRecordedRun(t *testing.T) {
	environment := testkit.Built(t)
	folder := t.TempDir()
	succeeds(t, replaying(t, environment, folder, "matmul_sampled.capture.gz", "-m", "pcsampling"))
	want := readOne(t, filepath.Join(folder, "local.hatchet"))
	want.Sampling.Sources = []profile.SourceText{textOf(t, filepath.Join(testkit.Root(t), "tutorials/matmul/matmul.py"), "/tmp/goproton/matmul.py")}
	text := asHatchet(t, want)
	if testkit.Update() {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		_, _ = w.Write(text)
		_ = w.Close()
		demoProfile = packed.Bytes()
		if err := os.WriteFile("demo/matmul.hatchet.gz", demoProfile, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeDemo(folder, filepath.Join(folder, "demo.hatchet")); err != nil {
		t.Fatal(err)
	}
	if got := asHatchet(t, readOne(t, filepath.Join(folder, "demo.hatchet"))); !bytes.Equal(got, text) {
		t.Errorf("demo/matmul.hatchet.gz is of another recording: %d bytes, %d of the replay; -update writes it", len(got), len(text))
	}
}

func readOne(t *testing.T, file string) *profile.Profile {
	t.Helper()
	p, err := readProfile(file, nil, fromFlag{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asHatchet is a profile as a file, without the facts of the machine that played it.
func asHatchet(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	p.Info = profile.Info{"replay": p.Info["replay"]}
	format, err := formats.ByName("hatchet")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := format.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func textOf(t *testing.T, file, name string) profile.SourceText {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	text := profile.SourceText{File: name, SHA256: hex.EncodeToString(sum[:])}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		text.Lines = append(text.Lines, profile.SourceLine{Number: i + 1, Text: line})
	}
	return text
}

// The demo names the kernel with most samples, its line and the cause, and leaves a page; nothing but its folder is written.
func TestDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, said bytes.Buffer
	if err := demo("d", false, &out, &said); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"$ proton viewer -m util,tflop/s,time -d 3 d/matmul.hatchet", "matmul_4096_4096_4096", "tl.dot(left, right, total)", "short_scoreboard 70%", "$ proton explain d/matmul.hatchet", "occupancy: matmul_kernel matmul.py:83", "$ proton report"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo lacks %q:\n%s", want, out.String())
		}
	}
	page, err := os.ReadFile("d/matmul.html")
	if err != nil || !bytes.Contains(page, []byte("GoProton report")) || !strings.Contains(said.String(), "open d/matmul.html in a browser") {
		t.Errorf("%v, %s", err, said.String())
	}
	if list, _ := os.ReadDir("."); len(list) != 1 {
		t.Errorf("it left %v", list)
	}
	if err := demo("d", false, io.Discard, io.Discard); err != nil { // again
		t.Error(err)
	}
	if err := os.WriteFile("d/matmul.hatchet", []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := demo("d", false, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "is another file") {
		t.Errorf("a file of the user: %v", err)
	}
}

func TestNoSources(t *testing.T) {
	for mode, want := range map[string]string{"pcsampling": "pcsampling:sources=drop", "pcsampling:interval=64:kernels=a:b": "pcsampling:sources=drop:interval=64:kernels=a:b"} {
		o := run.Options{}
		o.Mode = mode
		if err := leaveOutSources(true, &o); err != nil || o.Mode != want {
			t.Errorf("%s: %v, %s", mode, err, o.Mode)
		}
		if _, err := vendors.ParseMode("cupti", "pcsampling", strings.TrimPrefix(o.Mode, "pcsampling:")); err != nil {
			t.Errorf("%s: %v", o.Mode, err)
		}
	}
	if err := leaveOutSources(true, &run.Options{}); err == nil || !strings.Contains(err.Error(), "add --mode pcsampling") {
		t.Errorf("without samples: %v", err)
	}
}

// proton run --open writes the report of what was recorded, a tree or a timeline, and opens it from the disk.
func TestRunOpens(t *testing.T) {
	environment := testkit.Built(t)
	browser := t.TempDir()
	if err := os.WriteFile(filepath.Join(browser, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" > opened.part && mv opened.part opened\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"tree", "trace"} {
		folder := t.TempDir()
		cmd := replaying(t, environment, folder, "vecadd.capture.gz", "-d", data, "--open")
		for i, entry := range cmd.Env {
			if path, is := strings.CutPrefix(entry, "PATH="); is {
				cmd.Env[i] = "PATH=" + path + ":" + browser + ":/usr/bin:/bin"
			}
		}
		said := succeeds(t, cmd)
		page := filepath.Join(folder, "local.html")
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), "<title>local") || !strings.Contains(said, "wrote "+page) {
			t.Errorf("%s: %v, %s", data, err, said)
		}
		testkit.Await(t, "the browser to be started", func() bool {
			opened, err := os.ReadFile(filepath.Join(folder, "opened"))
			return err == nil && strings.TrimSpace(string(opened)) == page
		})
	}
}
