package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/literal"
)

// A file may declare any kind for a metric, also one that its values cannot have.
func TestTextIsAProperty(t *testing.T) {
	const node = `[{"frame":{"name":"ROOT"},"metrics":{"device_id":1},"kinds":{"text":%q,"device_id":%[1]q},"children":[{"frame":{"name":"k"},"metrics":{"text":"x"},"children":[]}]}]`
	for _, kind := range []profile.Kind{profile.Exclusive, profile.Inclusive, profile.Property} {
		file := fmt.Sprintf(node, kind)
		fromHatchet, err := hatchet.Read(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		fromLiteral, err := literal.Read(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*profile.Profile{fromHatchet, fromLiteral} {
			if got := p.Kinds; got["text"] != profile.Property || got["device_id"] != kind {
				t.Errorf("%v: %v", kind, got)
			}
		}
	}
}
