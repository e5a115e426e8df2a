package hatchet

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
)

// A large file is read in pieces, as many at once as there are processors. A piece begins where a node does, in the
// middle of lists of children that were opened before it:
//
//  1. cut     places are looked for where a node seems to start (nodeStart)
//  2. read    each piece by itself: whole nodes, then what is left of the nodes around them, from the inside out
//     (tail); at its end some nodes are open
//  3. join    every piece closes nodes that those before it have left open (joiner)
//
// That a cut is right is not known before the reader of the piece in front of it arrives at exactly that byte wanting
// a node. If it does not, or if anything else is not as expected, the file is read again from its start by one reader,
// whose answer counts. So a cut may be guessed, and the errors are those of Read.
const (
	smallestPiece = 2 << 20 // 3 ms of work
	mostPieces    = 16
	searchWindow  = 256 << 10
)

// errLimit ends the reading of a piece where the next one begins.
var errLimit = errors.New("the next piece begins here")

// errPieces says that a file cannot be read in these pieces.
var errPieces = errors.New("the pieces do not fit together")

// openNode is a node that a piece begins and a later one ends.
type openNode struct {
	*profile.Node
	named bool
}

// ReadAt reads one profile from the first size bytes of r, with all processors.
func ReadAt(r io.ReaderAt, size int64) (*profile.Profile, error) {
	var at []int64
	if pieces := min(int64(runtime.GOMAXPROCS(0)), size/smallestPiece, mostPieces); pieces > 1 {
		at = cuts(r, size, pieces)
	}
	return readPieces(r, size, at)
}

func readPieces(r io.ReaderAt, size int64, cuts []int64) (*profile.Profile, error) {
	if len(cuts) > 0 {
		if p, err := readAndJoin(r, size, cuts); err == nil {
			return p, nil
		}
	}
	return Read(io.NewSectionReader(r, 0, size))
}

// cuts looks for places that divide a file evenly.
func cuts(r io.ReaderAt, size, pieces int64) []int64 {
	var all []int64
	window := make([]byte, searchWindow)
	for i := int64(1); i < pieces; i++ {
		at := size / pieces * i
		n, err := r.ReadAt(window, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil
		}
		if found := nodeStart(window[:n]); found >= 0 && (len(all) == 0 || at+int64(found) > all[len(all)-1]) {
			all = append(all, at+int64(found))
		}
	}
	return all
}

// nodeStart finds the bracket before a first key "children"; -1 if there is none. Within a string the quotes would
// stand behind backslashes.
func nodeStart(text []byte) int {
	key := []byte(`"children"`)
	for from := 0; ; {
		at := bytes.Index(text[from:], key)
		if at < 0 {
			return -1
		}
		before := bytes.TrimRight(text[:from+at], " \r\n\t")
		if len(before) > 0 && before[len(before)-1] == '{' {
			return len(before) - 1
		}
		from += at + len(key)
	}
}

// piece is what came of a part of a file.
type piece struct {
	from    *decoder
	root    *profile.Node // in the first piece
	outer   []outerNode   // nodes that were open at its start, the innermost first
	devices []profile.Device
	whole   bool // the document ended in it as it should
}

// outerNode is what a piece knows of a node that was begun before it.
type outerNode struct {
	profile.Node           // its children from here on, and the keys behind them
	named        bool      // the name was among them
	closed       bool      // and its end
	root         tree.Root // what it says if the node is the root
}

func readAndJoin(r io.ReaderAt, size int64, cuts []int64) (*profile.Profile, error) {
	pieces := make([]piece, len(cuts)+1)
	var all sync.WaitGroup
	for i := range pieces {
		start, end := int64(0), size
		if i > 0 {
			start = cuts[i-1]
		}
		if i < len(cuts) {
			end = cuts[i]
		}
		d := newDecoder(io.NewSectionReader(r, start, end-start))
		d.StartAt(start)
		if i < len(cuts) {
			d.limit = end
		}
		pieces[i].from = d
		all.Go(func() { pieces[i].read(i == 0) })
	}
	all.Wait()
	return join(pieces)
}

func (p *piece) read(first bool) {
	if !first {
		p.tail()
		return
	}
	p.from.Expect('[', "at the start of a .hatchet file")
	p.root = p.from.node(0)
}

// tail reads siblings, what is left of their parent, the siblings of that, and so on.
func (p *piece) tail() {
	d := p.from
	last := d.limit == 0
	for more := true; d.Err == nil; more = d.More(']') {
		switch {
		case last && more && len(p.outer) > 0 && d.deviceTableAhead():
			p.devices = tree.ReadDevices(d)
			d.Expect(']', "at the end of a .hatchet file")
			p.whole = d.atEnd()
			return
		case last && !more && d.atEnd(): // that was the last bracket of a file without a device table
			p.whole = true
			return
		}
		var o outerNode
		d.siblings(&o.Node, -1, more)
		if d.Err == nil {
			d.tree.Root = tree.Root{}
			o.named = d.members(&o.Node, 0, d.More('}'))
			o.closed = d.Err == nil
			o.root = d.tree.Root
		}
		p.outer = append(p.outer, o)
	}
}

func (d *decoder) atEnd() bool { return d.Peek() == 0 && d.Ended() && d.Err == nil }

// deviceTableAhead tells the second element of a file from another node, by its first key.
func (d *decoder) deviceTableAhead() bool {
	if d.Peek() != '{' {
		return false
	}
	text := bytes.TrimLeft(d.Ahead(512)[1:], " \r\n\t")
	switch key, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte{'"'}), []byte{'"'}); string(key) {
	case "children", "frame", "metrics", "name", "attributes", "duplicate", "times", "samples", "info", "kinds", "sampling", "launches", "launch_kinds":
		return false
	}
	return true
}

// join puts the pieces together in the nodes of the first one.
func join(pieces []piece) (*profile.Profile, error) {
	var open []openNode // the root first
	all := pieces[0].from
	for i := range pieces {
		p, last := &pieces[i], i == len(pieces)-1
		if p.from.foreign || last != p.whole || !last && p.from.Err != errLimit || len(open)+p.from.deepest > profile.MaxDepth {
			return nil, errPieces
		}
		for j := range p.outer {
			o := &p.outer[j]
			if len(open) == 0 || !o.addTo(&open[len(open)-1]) {
				return nil, errPieces
			}
			if o.closed {
				open = open[:len(open)-1]
			}
			if len(open) == 0 {
				all.tree.Root.Join(&o.root)
			}
		}
		for _, n := range slices.Backward(p.from.open) {
			open = append(open, n)
		}
		if i > 0 {
			all.tree.Join(&p.from.tree)
			all.Rounded += p.from.Rounded
		}
	}
	if len(open) > 0 {
		return nil, errPieces
	}
	whole := &profile.Profile{Root: pieces[0].root, Devices: pieces[len(pieces)-1].devices}
	if err := all.finish(whole); err != nil {
		return nil, err
	}
	return whole, nil
}

// addTo completes a node; false if it is not a valid one.
func (o *outerNode) addTo(n *openNode) bool {
	n.Children = append(n.Children, o.Children...)
	if o.named {
		n.Name, n.named = o.Name, true
	}
	if o.Metrics != nil {
		n.Metrics = o.Metrics
	}
	if o.Times != nil {
		n.Times = o.Times
	}
	if o.Samples != nil {
		n.Samples = o.Samples
	}
	if o.Inside != nil {
		n.Inside = o.Inside
	}
	if o.Launches != nil {
		n.Launches = o.Launches
	}
	return n.named || !o.closed
}
