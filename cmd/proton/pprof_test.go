package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/ianlancetaylor/demangle"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

const pytree = "../../testdata/upstream/triton-3.9.0/pytree.hatchet"

// pagesOf starts `proton pprof -http=:0` as a user would, with a home that must not change, and returns the address it
// prints and a way to interrupt it.
func pagesOf(t *testing.T, args ...string) (address string, stderr *watched, interrupt func()) {
	t.Helper()
	home := t.TempDir()
	tmp := t.TempDir()
	cmd := exec.Command("proton", append([]string{"pprof", "-http=:0"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "TMPDIR="+tmp, "BROWSER=", "DISPLAY=", "WAYLAND_DISPLAY=", "SSH_CONNECTION=a b c d")
	stderr = &watched{}
	var stdout bytes.Buffer
	cmd.Stderr, cmd.Stdout = stderr, &stdout
	heedSignals()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	stderr.wait(t, "(Ctrl-C ends it)")
	address = regexp.MustCompile(`http://\S+`).FindString(stderr.String())
	return address, stderr, func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := waitFor(t, cmd); err != nil {
			t.Errorf("an interrupt ends the pages with %v, want exit code 0; %s", err, stderr)
		}
		if stdout.Len() > 0 {
			t.Errorf("standard output has %q", stdout.String())
		}
		for _, folder := range []string{home, tmp} {
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%v is left behind in %s (%v)", left, folder, err)
			}
		}
	}
}

func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// loads are the places of a page that a browser fetches by itself.
var loads = regexp.MustCompile(`(?i)<(?:script|img|iframe|source|embed|object)\b[^>]*\b(?:src|data)\s*=\s*["']?([^"'\s>]+)|<link\b[^>]*\bhref\s*=\s*["']?([^"'\s>]+)|@import\s+(?:url\()?["']?([^"')\s]+)|url\(["']?([^"')\s]+)`)

// links are the places that a click leads to.
var links = regexp.MustCompile(`(?i)<a\b[^>]*\bhref\s*=\s*["']([^"']*)["']`)

func TestPprofPages(t *testing.T) {
	folder := t.TempDir()
	source := filepath.Join(folder, "train.py")
	if err := os.WriteFile(source, []byte("def forward(x):\n    return x @ secret_weights\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	kernel := &profile.Node{Name: "gemm"}
	kernel.Set("time (ns)", profile.IntValue(5000))
	kernel.Set("count", profile.IntValue(2))
	kernel.Set("device_id", profile.StringValue("0"))
	p := &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: source + ":2@forward", Children: []*profile.Node{kernel}}}},
		Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "device_id": profile.Property},
	}
	file := filepath.Join(folder, "train.hatchet")
	target, err := formats.TargetOf(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.WriteFile(file, p); err != nil {
		t.Fatal(err)
	}

	address, stderr, interrupt := pagesOf(t, file)
	if !strings.HasPrefix(address, "http://localhost:") || strings.HasSuffix(address, ":0") {
		t.Errorf("the address is %s", address)
	}
	if !strings.Contains(stderr.String(), "ssh -L ") {
		t.Errorf("nothing says how to come here through ssh: %s", stderr)
	}
	seen := map[string]bool{}
	for _, page := range []struct{ path, want string }{
		{"/", "gemm"}, {"/flamegraph", "gemm"}, {"/top", "forward"}, {"/peek?f=gemm", "gemm"},
		{"/source?f=forward", "secret_weights"}, {"/flamegraph?si=count", "count"}, {"/ui/top?f=gemm", "gemm"},
	} {
		status, body := get(t, address+page.path)
		if status != http.StatusOK || !strings.Contains(body, page.want) {
			t.Errorf("%s has status %d and no %q: %.300s", page.path, status, page.want, body)
		}
		stayHere(t, page.path, body)
		for _, link := range links.FindAllStringSubmatch(body, -1) {
			seen[link[1]] = true
		}
	}
	follow(t, address, seen)
	if status, body := get(t, address+"/download"); status != http.StatusOK || !strings.HasPrefix(body, "\x1f\x8b") {
		t.Errorf("the download has status %d and starts with %q", status, body[:min(len(body), 4)])
	}
	refuses(t, address)
	interrupt()
}

// stayHere checks that a browser needs nothing but the page.
func stayHere(t *testing.T, path, body string) {
	t.Helper()
	for _, found := range loads.FindAllStringSubmatch(body, -1) {
		for _, place := range found[1:] {
			if u, err := url.Parse(place); place != "" && (err != nil || u.Host != "" || u.Scheme != "" && u.Scheme != "data") {
				t.Errorf("%s makes a browser load %s", path, place)
			}
		}
	}
}

// follow clicks on everything in the pages. A graph may need a program that is not there, and says so.
func follow(t *testing.T, address string, found map[string]bool) {
	t.Helper()
	if len(found) < 5 {
		t.Errorf("the pages have no links but %v", found)
	}
	base, err := url.Parse(address + "/")
	if err != nil {
		t.Fatal(err)
	}
	for link := range found {
		to, err := base.Parse(strings.ReplaceAll(link, "&amp;", "&"))
		if err != nil {
			t.Errorf("link %q: %v", link, err)
			continue
		}
		if to.Host != base.Host {
			t.Logf("a link leads to %s", to) // on a click, which is the user's choice
			continue
		}
		status, body := get(t, to.String())
		lacks := status == http.StatusNotImplemented && regexp.MustCompile("Graphviz|machine code").MatchString(body) && strings.Contains(body, `href="flamegraph`)
		if status != http.StatusOK && !lacks {
			t.Errorf("link %q: status %d, %.200s", link, status, body)
		}
	}
}

// refuses checks what must not work.
func refuses(t *testing.T, address string) {
	t.Helper()
	if status, _ := get(t, address+"/debug/pprof/"); status != http.StatusNotFound {
		t.Errorf("a page that is not there has status %d", status)
	}
	request, err := http.NewRequest("GET", address+"/top", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "attacker.example"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a request for another host's name has status %d", response.StatusCode)
	}
}

// TestPprofSourcePageHasFramesWithFiles: scopes and kernels without a source file have no part in the Source page. The driver
// would add them all up under the name of one of them, here the two scopes and the three kernels to 270 % of the time.
func TestPprofSourcePageHasFramesWithFiles(t *testing.T) {
	folder := t.TempDir()
	source := filepath.Join(folder, "model.py")
	if err := os.WriteFile(source, []byte("def forward(x):\n    return x @ w\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	kernel := func(name string, nanos int64) *profile.Node {
		n := &profile.Node{Name: name}
		n.Set("time (ns)", profile.IntValue(nanos))
		n.Set("count", profile.IntValue(1))
		n.Set("device_id", profile.StringValue("0"))
		return n
	}
	line := &profile.Node{Name: source + ":2@forward", Children: []*profile.Node{kernel("gemm", 600), kernel("relu", 100)}}
	inner := &profile.Node{Name: "layer", Children: []*profile.Node{line}}
	// A scope of the function's name is not the function.
	outer := &profile.Node{Name: "forward", Children: []*profile.Node{inner, kernel("copy", 300)}}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{outer}}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "device_id": profile.Property}}
	write := func(name string) string {
		file := filepath.Join(folder, name)
		target, err := formats.TargetOf(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := target.WriteFile(file, p); err != nil {
			t.Fatal(err)
		}
		return file
	}
	files := regexp.MustCompile(`(?s)<h2>([^<]*)</h2><p class="filename">([^<]*)</p>\n<pre[^>]*>\n  Total: +(\S+) +(\S+) \(flat, cum\) (\S+)`)
	address, _, interrupt := pagesOf(t, "--no-open", write("with.hatchet"))
	for _, query := range []string{"", "?f=forward", "?f=gemm|forward"} {
		status, body := get(t, address+"/source"+query)
		found := files.FindAllStringSubmatch(body, -1)
		if status != http.StatusOK || len(found) != 1 || strings.Join(found[0][1:], " ") != "forward "+source+" 0 700ns 70.00%" || !strings.Contains(body, "return x @ w") {
			t.Errorf("/source%s has status %d and %q", query, status, found)
		}
	}
	if status, body := get(t, address+"/source?f=gemm"); status != http.StatusNotImplemented || !strings.Contains(body, "has a source file") || !strings.Contains(body, `href="top`) {
		t.Errorf("a kernel without a file has status %d: %.500s", status, body)
	}
	if status, body := get(t, address+"/source?f=nothing"); status != http.StatusBadRequest || !strings.Contains(body, "no matches found") {
		t.Errorf("a name that does not exist has status %d: %s", status, body)
	}
	interrupt()
	for _, function := range []string{".", "forward"} {
		page := filepath.Join(folder, "list.html")
		if out, err := exec.Command("proton", "pprof", "-weblist="+function, "-output="+page, write("again.hatchet")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		body, err := os.ReadFile(page)
		found := files.FindAllStringSubmatch(string(body), -1)
		if err != nil || len(found) != 1 || strings.Join(found[0][1:], " ") != "forward "+source+" 0 700ns 70.00%" || !strings.Contains(string(body), "Total: 1us") {
			t.Errorf("-weblist=%s: %v and %q", function, err, found)
		}
	}
	out, err := exec.Command("proton", "pprof", "-weblist=gemm", "-output="+filepath.Join(folder, "none.html"), write("again.hatchet")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no matches found for regexp: gemm among the frames with a source file") {
		t.Errorf("-weblist of a kernel without a file: %v: %s", err, out)
	}
}

// Views that are saved in the pages live as long as the pages.
func TestPprofPagesKeepViews(t *testing.T) {
	address, _, interrupt := pagesOf(t, "--no-open", pytree)
	response, err := http.Post(address+"/saveconfig?config=mine&f=add", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if _, body := get(t, address+"/top"); response.StatusCode != http.StatusOK || !strings.Contains(body, "mine") {
		t.Errorf("saving a view has status %d, and it is not in the menu", response.StatusCode)
	}
	interrupt()
}

// A report touches neither the home nor the working directory.
func TestPprofWritesNothing(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	file, err := filepath.Abs(pytree)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{home, dir} {
		if err := os.Chmod(folder, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	for _, report := range []string{"-top", "-tree", "-traces", "-raw", "-tags", "-peek=add", "-dot", "-callgrind", "-topproto", "-comments"} {
		cmd := exec.Command("proton", "pprof", report, file)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "TMPDIR="+home)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil || stdout.Len() == 0 || stderr.Len() > 0 {
			t.Errorf("%s: %v, %d bytes, and it says %s", report, err, stdout.Len(), &stderr)
		}
	}
	for _, folder := range []string{home, dir} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path != folder {
				t.Errorf("%s was written", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Go's own pprof reads what we write, without a word of complaint, and counts the same.
func TestGoToolPprof(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command: ", err)
	}
	file := filepath.Join(t.TempDir(), "train.pb.gz")
	if out, err := exec.Command("proton", "pprof", "-proto", "-output="+file, pytree).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, report := range [][]string{{"-top"}, {"-top", "-sample_index=count", "-cum"}, {"-tree"}, {"-traces"}, {"-tags"}, {"-peek=add"}} {
		cmd := exec.Command("go", append(append([]string{"tool", "pprof"}, report...), file)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		theirs, err := cmd.Output()
		if err != nil {
			t.Fatalf("go tool pprof %v: %v: %s", report, err, &stderr)
		}
		ours, err := exec.Command("proton", append(append([]string{"pprof"}, report...), pytree)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if stderr.Len() > 0 || string(theirs) != string(ours) {
			t.Errorf("%v: go tool pprof says\n%s\n%s\nproton pprof says\n%s", report, &stderr, theirs, ours)
		}
	}
}

// pprof's total of a sample type is the viewer's sum at the root, and its cum of a frame the viewer's sums of that
// frame's outermost nodes.
func TestPprofCountsLikeTheViewer(t *testing.T) {
	for _, pattern := range []string{"../../testdata/upstream/*/*.hatchet", "../../viewer/testdata/profiles/*.hatchet"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			p, err := formats.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("proton", "pprof", "-top", "-unit=ns", "-sample_index=time", "-nodefraction=0", "-nodecount=100000", "-lines", file).Output()
			if err != nil {
				if _, has := totals(p)["ROOT"]; !has {
					continue // without any GPU time there is no such sample type
				}
				t.Fatalf("%s: %v", file, err)
			}
			have := topOf(t, string(out))
			want := totals(p)
			delete(want, "ROOT")
			for name, sum := range want {
				if got, shown := have[name]; got != sum && (shown || sum != 0) {
					t.Errorf("%s: %s has %d ns in pprof, %d in the tree", file, name, got, sum)
				}
			}
		}
	}
}

// totals are the times below each frame, as pprof names frames by line. A frame that is below itself counts once.
func totals(p *profile.Profile) map[string]int64 {
	sums := map[string]int64{}
	var path []string
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if profile.IsLaunchMetadata(n.Name) {
			return false // the viewer does not count it
		}
		path = append(path[:depth], byLine(demangle.Filter(n.Name, demangle.NoParams, demangle.NoTemplateParams)))
		v, has := n.Metric("time (ns)")
		if f, _ := v.Float(); !has || f == 0 || f != f {
			return true
		}
		for i, name := range path {
			if !slices.Contains(path[:i], name) {
				sums[name] += v.Int()
			}
		}
		return true
	})
	return sums
}

var python = regexp.MustCompile(`^(.*):(\d+)@(.*)$`)

func byLine(name string) string {
	if parts := python.FindStringSubmatch(name); parts != nil {
		return fmt.Sprintf("%s %s:%s", parts[3], parts[1], parts[2])
	}
	return name
}

func topOf(t *testing.T, report string) map[string]int64 {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ *\S+ +\S+% +\S+% +(-?\d+)(?:ns)? +\S+%  (.*)$`)
	sums := map[string]int64{}
	for _, found := range line.FindAllStringSubmatch(report, -1) {
		n, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sums[found[2]] = n
	}
	return sums
}

// A profile of another tool goes through untouched: what a tree has no place for stays.
func TestPprofLeavesForeignProfilesAlone(t *testing.T) {
	m := &pprof.Mapping{ID: 1, File: "/usr/bin/server", Start: 0x1000, Limit: 0x9000}
	fn := &pprof.Function{ID: 1, Name: "work", SystemName: "work", StartLine: 7}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10,
		Mapping: []*pprof.Mapping{m}, Function: []*pprof.Function{fn},
		Location:   []*pprof.Location{{ID: 1, Mapping: m, Address: 0x1234, Line: []pprof.Line{{Function: fn, Line: 9, Column: 3}}}},
		DropFrames: "never",
	}
	p.Sample = []*pprof.Sample{{Location: p.Location, Value: []int64{42}, Label: map[string][]string{"k": {"v", "w"}}}}
	file := filepath.Join(t.TempDir(), "cpu.pb.gz")
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("proton", "pprof", "-proto", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	back, err := pprof.ParseUncompressed(data)
	if err != nil {
		t.Fatal(err)
	}
	if back.String() != p.String() {
		t.Errorf("comes out as\n%s\nwas\n%s", back, p)
	}
}

// A user at a terminal gets pprof's shell, with completion, and afterwards has a terminal that works.
func TestPprofShell(t *testing.T) {
	file, err := filepath.Abs(pytree)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("proton", "pprof", file)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=xterm")
	keyboard, screen := onTerminal(t, cmd)
	typed := func(text, want string) {
		t.Helper()
		if _, err := keyboard.WriteString(text); err != nil {
			t.Fatal(err)
		}
		screen.wait(t, want)
	}
	screen.wait(t, "(pprof) ")
	typed("top\r", "51.58%  add_kernel")
	typed("peek add_ke\t", "peek add_kernel")
	typed("\r", "| add_kernel")
	typed("nonsense\r", `unrecognized command: "nonsense"`)
	typed("quit\r", "quit")
	if err := waitFor(t, cmd); err != nil {
		t.Errorf("%v: %s", err, screen)
	}
}
