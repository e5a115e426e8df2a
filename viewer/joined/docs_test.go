package joined

import (
	"os"
	"testing"

	"github.com/goproton/goproton/viewer/internal/jsonfields"
)

func TestDocumentIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/tritonparse.md")
	if err != nil {
		t.Fatal(err)
	}
	if missing := jsonfields.Missing(jsonDocument{}, string(page)); len(missing) > 0 {
		t.Errorf("docs/tritonparse.md does not say what these are: %q", missing)
	}
}
