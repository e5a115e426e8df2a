package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/goproton/goproton/cmd/proton/internal/agent"
)

// connected is a client of a server for a folder with the demo's profile.
func connected(t *testing.T, folder string, o agent.Options) *mcp.ClientSession {
	t.Helper()
	program, err := exec.LookPath("proton") // this test, under that name
	if err != nil {
		t.Fatal(err)
	}
	o.Program, o.Folder = program, folder
	s, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	return client(t, here)
}

func client(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

type answer struct {
	agent.Result
	failed bool
	text   string // of an error
}

func call(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (a answer) {
	t.Helper()
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	a.failed = got.IsError
	for _, c := range got.Content {
		if text, is := c.(*mcp.TextContent); is {
			a.text += text.Text
		}
	}
	if got.StructuredContent != nil {
		text, err := json.Marshal(got.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &a.Result); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func demoFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := writeDemo(folder, filepath.Join(folder, "demo.hatchet")); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestToolsForAgents(t *testing.T) {
	folder := demoFolder(t)
	session := connected(t, folder, agent.Options{Version: "1", Runs: true})
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "candidate diff explain gate interpret line reproduce run source view" {
		t.Errorf("tools are %s", got)
	}
	explained := call(t, session, "explain", map[string]any{"profile": "demo.hatchet", "kernel": "matmul*"})
	doc, _ := explained.Document.(map[string]any)
	findings, _ := doc["findings"].([]any)
	if explained.failed || doc["schema"] != "goproton.explain/1" || len(findings) == 0 || !strings.Contains(explained.text, `"number":83`) {
		t.Errorf("explain: %+v", explained)
	}
	if a := call(t, session, "view", map[string]any{"profile": "demo.hatchet", "metrics": "util,time", "depth": 2}); a.failed || !strings.Contains(a.text, "matmul_4096_4096_4096") {
		t.Errorf("view: %+v", a)
	}
	if a := call(t, session, "source", map[string]any{"profile": "demo.hatchet", "text": true}); a.failed || !strings.Contains(a.Text, "total = tl.dot(left, right, total)") {
		t.Errorf("source: %+v", a)
	}
	a := call(t, session, "line", map[string]any{"profile": "demo.hatchet", "file": "/tmp/goproton/matmul.py", "line": 83, "context": 1})
	if want := "82         right = tl.load(b, mask=col_in & (steps[:, None] < K - k), other=0.0)\n83         total = tl.dot(left, right, total)\n84         a += BLOCK_K * stride_ak\n"; a.failed || a.Text != want {
		t.Errorf("line: %+v", a)
	}
	if a := call(t, session, "line", map[string]any{"file": "../../../etc/hostname.py", "line": 1}); !a.failed {
		t.Errorf("a line elsewhere: %+v", a)
	}
	other := filepath.Join(folder, "other.hatchet")
	text, err := os.ReadFile("../../viewer/testdata/recorded/matmul.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if a := call(t, session, "diff", map[string]any{"before": "demo.hatchet", "after": other, "depth": 2}); a.failed || !strings.Contains(a.text, "goproton.diff/1") {
		t.Errorf("diff: %+v", a)
	}
	a = call(t, session, "gate", map[string]any{"baseline": []string{"demo.hatchet"}, "after": []string{"other.hatchet"}, "fail_on": []string{"time > 90% @ total"}})
	if verdict, _ := a.Document.(map[string]any); a.failed || a.ExitCode != 0 || verdict["verdict"] != "pass" {
		t.Errorf("gate: %+v", a)
	}
	a = call(t, session, "gate", map[string]any{"baseline": []string{"demo.hatchet"}, "after": []string{"other.hatchet"}, "fail_on": []string{"time > 1us @ total"}})
	if verdict, _ := a.Document.(map[string]any); a.failed || a.ExitCode != 1 || verdict["verdict"] != "fail" {
		t.Errorf("a gate that fails: %+v", a)
	}
	if a := call(t, session, "explain", map[string]any{"profile": "missing.hatchet"}); !a.failed || a.ExitCode != 1 || !strings.Contains(a.text, "missing.hatchet") {
		t.Errorf("a missing profile: %+v", a)
	}
	long := call(t, session, "view", map[string]any{"profile": "demo.hatchet", "depth": 9})
	whole, err := os.ReadFile(filepath.Join(folder, long.File))
	if err != nil || !json.Valid(whole) || len(whole) < 24<<10 || len(long.Text) > 8<<10 {
		t.Errorf("a long answer: %v, %d bytes, %+v", err, len(whole), long)
	}
}

// A candidate that is wrong is an answer, one that cannot be tried is an error.
func TestCandidatesOfAgents(t *testing.T) {
	folder := t.TempDir()
	session := connected(t, folder, agent.Options{Version: "1", Runs: true})
	for name, text := range map[string]string{"new.py": "", "launch.py": `
import json, sys
if "new.py:none" in sys.argv:
    sys.exit("new.py has no none")
print("goproton measured", json.dumps({"kernel": "k", "method": "", "compiled": {}, "check": {}}), flush=True)
for line in sys.stdin:
    print("goproton", line.split()[0], json.dumps([{"argument": "c", "max_abs_diff": 1, "max_abs": 3, "ok": False}]), flush=True)
`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	a := call(t, session, "candidate", map[string]any{"trace": "launch.py", "file": "new.py", "tolerance": 0.1})
	if doc, _ := a.Document.(map[string]any); a.failed || a.ExitCode != 1 || doc["verdict"] != "wrong" {
		t.Errorf("wrong: %+v", a)
	}
	if a := call(t, session, "candidate", map[string]any{"trace": "launch.py", "file": "new.py", "function": "none"}); !a.failed || !strings.Contains(a.text, "new.py has no none") {
		t.Errorf("no such function: %+v", a)
	}
}

// Nothing outside the folder is read or written, whatever a path looks like, and a value never turns into a flag.
func TestAgentsStayInTheirFolder(t *testing.T) {
	folder := demoFolder(t)
	outside := filepath.Join(t.TempDir(), "secret.hatchet")
	if err := os.WriteFile(outside, []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.hatchet": outside, "folder": filepath.Dir(outside), "nowhere": filepath.Join(filepath.Dir(outside), "new")} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Skip(err)
		}
	}
	session := connected(t, folder, agent.Options{Version: "1", Runs: true})
	for _, path := range []string{outside, "../secret.hatchet", "link.hatchet", "folder/secret.hatchet", "nowhere", "nowhere/x", "a/../../x", "/etc/passwd", ""} {
		for tool, arguments := range map[string]map[string]any{
			"explain":   {"profile": path},
			"line":      {"profile": path, "file": "k.py", "line": 1},
			"view":      {"profile": path},
			"diff":      {"before": "demo.hatchet", "after": path},
			"gate":      {"baseline": []string{path}, "after": []string{"demo.hatchet"}},
			"run":       {"name": path, "command": []string{"true"}},
			"interpret": {"command": []string{path + ".py"}},
			"reproduce": {"trace": path},
			"candidate": {"trace": "demo.hatchet", "file": path},
		} {
			if path == "" && (tool == "run" || tool == "line") || tool == "interpret" && !strings.Contains(path, "/") {
				continue
			}
			if a := call(t, session, tool, arguments); !a.failed || !strings.Contains(a.text, "not below the folder") && !strings.Contains(a.text, "leads to a file") {
				t.Errorf("%s of %q: %+v", tool, path, a)
			}
		}
	}
	for _, path := range []string{"--help", "-", "--schema"} {
		if a := call(t, session, "explain", map[string]any{"profile": path}); !a.failed || !strings.Contains(a.Command, "./"+path) {
			t.Errorf("a profile called %q: %+v", path, a)
		}
	}
}

func TestAgentsMayBeReadersOnly(t *testing.T) {
	session := connected(t, t.TempDir(), agent.Options{Version: "1"})
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"name": "x", "command": []string{"true"}}}); err == nil {
		t.Error("a program is run")
	}
}

// A tool that takes too long ends, and says so.
func TestToolsEnd(t *testing.T) {
	folder := t.TempDir()
	home, err := filepath.Abs("testdata/fakehome")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROTON_HOME", home)
	t.Setenv("PROTON_ROOT", t.TempDir())
	session := connected(t, folder, agent.Options{Version: "1", Runs: true})
	start := time.Now()
	a := call(t, session, "run", map[string]any{"name": "x", "command": []string{"sleep", "60"}, "timeout_s": 1})
	if !a.failed || !strings.Contains(a.text, "was ended after 1s") || time.Since(start) > 40*time.Second {
		t.Errorf("after %v: %+v", time.Since(start), a)
	}
	a = call(t, session, "run", map[string]any{"name": "x", "command": []string{"true"}, "counters": "memry"})
	if !a.failed || !strings.Contains(a.Command, "--mode=counters:set=memry") || !strings.Contains(a.text, "did you mean memory?") {
		t.Errorf("a set that does not exist: %+v", a)
	}
}

// The program itself, over its standard input and output; it ends when its input does.
func TestServingOverStandardInput(t *testing.T) {
	folder := demoFolder(t)
	program, err := exec.LookPath("proton")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "mcp", "--read-only")
	cmd.Dir = folder
	session := client(t, &mcp.CommandTransport{Command: cmd})
	a := call(t, session, "explain", map[string]any{"profile": "demo.hatchet", "top": 1})
	if a.failed || !strings.Contains(a.text, "goproton.explain/1") {
		t.Errorf("%+v", a)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}
