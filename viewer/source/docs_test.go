package source

import (
	"os"
	"testing"

	"github.com/goproton/goproton/viewer/internal/jsonfields"
)

func TestDocumentIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/sampling.md")
	if err != nil {
		t.Fatal(err)
	}
	if missing := jsonfields.Missing(jsonDocument{}, string(page)); len(missing) > 0 {
		t.Errorf("docs/sampling.md does not say what these are: %q", missing)
	}
}
