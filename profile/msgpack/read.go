package msgpack

import (
	"io"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
)

// Read reads one profile. What it cannot understand is a *profile.FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// Decode reads the profile in data.
func Decode(data []byte) (*profile.Profile, error) {
	w := &wire{data: data}
	var d tree.Decoder
	p := &profile.Profile{}
	switch n := w.array("a tree and a device table"); {
	case w.err != nil:
	case n < 1 || n > 2:
		w.Fail(0, "an array of %d; a .hatchet_msgpack file has a tree and a device table", n)
	default:
		p.Root = d.Node(w, 0, nil)
		if n == 2 {
			p.Devices = tree.ReadDevices(w)
		}
	}
	if w.err == nil && w.pos < len(data) {
		w.Fail(int64(w.pos), "%d bytes behind the end of the profile", len(data)-w.pos)
	}
	if w.err != nil {
		return nil, w.err
	}
	p.Rounded = w.rounded
	if err := d.Finish(p, int64(len(data))); err != nil {
		return nil, err
	}
	return p, nil
}

// Sniff says by its first bytes whether a file is one of ours: an array of one or two whose first is a map with the
// keys of a node.
func Sniff(head []byte) bool {
	if len(head) < 3 || head[0]&^3 != 0x90 || head[0] == 0x90 || head[0] == 0x93 || head[1]&0xf0 != 0x80 || head[1] == 0x80 {
		return false
	}
	w := wire{data: head, pos: 2}
	switch string(w.Text("a key")) {
	case "frame", "metrics", "children":
		return true
	}
	return false
}
