package report

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestInNotebook shows the page as goproton.show puts it into a notebook: within an element that is cut off from the page around it.
func TestInNotebook(t *testing.T) {
	env := testkit.Built(t)
	folder := t.TempDir()
	root := testkit.Root(t)
	run := func(line string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command("sh", append([]string{"-c", line + ` "$@"`, line}, args...)...) // finds the proton of env
		cmd.Dir, cmd.Env = folder, env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, stderr.Bytes())
		}
		return out
	}
	run("proton", "run", "--name", "vecadd", "--backend", "replay", filepath.Join(root, "testdata/captures/vecadd.capture.gz"))
	element := run("python3", "-c", fmt.Sprintf("import sys; sys.path.insert(0, %q)\n"+
		"import goproton.notebook as n, goproton\nprint(n.inline(goproton.read('vecadd.hatchet'), 600))", filepath.Join(root, "hooks/python")))
	outer := filepath.Join(folder, "notebook.html")
	text := fmt.Sprintf("<!doctype html><html data-ready><body style='margin: 0'>%s<p id='around'>around</p>", element)
	if err := os.WriteFile(outer, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := browser(t).open(t, outer, screen{width: 1000, height: 640})
	// A blank element has two colours; the page has text, bars and a graph.
	testkit.Await(t, "the page within the element", func() bool { return colours(t, p.picture()) > 50 })
	if picture := os.Getenv("PROTON_PICTURE"); picture != "" {
		p.shootTo(picture)
	}
	if got := p.eval(`(() => { try { return document.querySelector("iframe").contentDocument === null } catch { return true } })()`); got != true {
		t.Error("the page within the element can be reached from the notebook, and reaches it")
	}
}

func colours(t *testing.T, picture []byte) int {
	t.Helper()
	image, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]bool{}
	bounds := image.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := image.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}
