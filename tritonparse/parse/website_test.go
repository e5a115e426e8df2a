package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// TestWebsiteReads has the rules by which TritonParse's website reads a file, which is in no registry: one gzip member of lines
// (readEvents reads no more), compilations with file_path and file_content, stages with what their panels need, maps whose
// keys are lines; and the files that log_file_list.json names.
func TestWebsiteReads(t *testing.T) {
	for _, name := range samples {
		source := t.TempDir()
		testkit.TraceSample(t, name, filepath.Join(source, tritonparse.Prefix+name+"_.ndjson"))
		for _, compat := range []bool{false, true} {
			out := t.TempDir()
			if _, err := Parse(source, out, Options{Compat: compat}); err != nil {
				t.Fatal(err)
			}
			index := readEvents(t, filepath.Join(out, "log_file_list.json"))[0]
			files := append(list(at(index, "rank_none", "regular_files")), at(index, "rank_none", "mapped_file"))
			ids := map[any]bool{}
			for _, f := range files {
				for _, e := range readEvents(t, filepath.Join(out, f.(string))) {
					if at(e, "event_type") == "compilation" {
						websiteCompilation(t, e)
					}
					if id := at(e, "occurrence_id"); id != nil && ids[id] {
						t.Errorf("%s: two events have the id %v", name, id)
					} else if id != nil {
						ids[id] = true
					}
				}
			}
			if found, _ := os.ReadDir(out); len(found) != len(files)+1 {
				t.Errorf("%s: %d files, %v are listed", name, len(found), files)
			}
		}
	}
}

func websiteCompilation(t *testing.T, e any) {
	t.Helper()
	paths, okPaths := at(e, "payload", "file_path").(map[string]any)
	texts, okTexts := at(e, "payload", "file_content").(map[string]any)
	if !okPaths || !okTexts || len(paths) == 0 {
		t.Error("a compilation that the website skips")
	}
	for _, s := range list(at(e, "payload", "ir_stages")) {
		stage, _ := at(s, "name").(string)
		if at(s, "extension") != "."+stage || at(s, "display_order") == nil || at(s, "syntax_id") == "" {
			t.Errorf("stage %v", s)
		}
		for name := range texts {
			if !strings.HasSuffix(name, "."+stage) {
				continue
			}
			entries, _ := at(e, "payload", "source_mappings", stage).(map[string]any)
			for line, entry := range entries {
				if n, ok := at(entry, stage+"_line").(interface{ String() string }); !ok || n.String() != line {
					t.Errorf("%s line %s: %v", name, line, entry)
				}
			}
		}
	}
}
