package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPictures takes the pictures of README.md; tools/pictures.sh calls it with the folder of the pages in PROTON_PICTURES.
func TestPictures(t *testing.T) {
	folder := os.Getenv("PROTON_PICTURES")
	if folder == "" {
		t.Skip("pictures are taken by tools/pictures.sh")
	}
	p := browser(t).open(t, filepath.Join(folder, "matmul.html"), screen{width: 1100, height: 560})
	for _, tab := range strings.Fields("summary flame roofline source") {
		p.click("#tab-" + tab)
		if tab == "flame" {
			p.eval(`(() => { const s = [...document.querySelectorAll("#panel-flame select")].find((s) => [...s.options].some((o) => o.value === "util"));
				if (s) { s.value = "util"; s.dispatchEvent(new Event("change")); } })()`)
		}
		if tab == "source" {
			p.click("#panel-source .bar > button") // the hottest line
		}
		p.painted()
		p.shootTo(filepath.Join(folder, tab+".png"))
	}
}
