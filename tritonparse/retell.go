package tritonparse

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// retelling finds out from the launches of a kernel, as they are written, what was known of it while it was at hand.
type retelling struct {
	told     hand
	reader   launchReader
	changes  []change
	compiled []int // ids that compilations have
	compat   bool
	infer    bool // the kernel is only launched, and none of its launches was told yet
}

var errRetold = errors.New("BUG: a launch that was put away is no launch")

// launches tells the launches that stand in a text.
func (t *retelling) launches(text []byte) error {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n')
		if n < 0 {
			return errRetold
		}
		if err := t.launch(text[:n]); err != nil {
			return err
		}
		text = text[n+1:]
	}
	return nil
}

// launch tells one launch. Its line is a record and what parsing added to it.
func (t *retelling) launch(line []byte) error {
	at := bytes.LastIndex(line, []byte(`,"launch_group_hash":"`))
	if at < 0 {
		return errRetold
	}
	id, ok := lineID(line[at:])
	if !ok {
		return errRetold
	}
	line[at] = '}'
	defer func() { line[at] = ',' }()
	record := line[:at+1]
	l, changes, ok := t.reader.reread(record, t.changes[:0])
	t.changes = changes
	if !ok {
		members, err := jsontext.Members(record)
		if err != nil {
			return err
		}
		l = t.reader.read(record, members)
	}
	if t.infer {
		t.told.inferred, t.infer = infer(&l, t.compat), false
	}
	before, _ := slices.BinarySearch(t.compiled, id)
	t.told.add(&l, id-before, id, t.compat)
	return nil
}

// lineID finds the occurrence id in what parsing added to a launch.
func lineID(added []byte) (int, bool) {
	_, id, ok := bytes.Cut(added, []byte(`"occurrence_id":`))
	if !ok {
		return 0, false
	}
	end := bytes.IndexAny(id, ",}")
	if end < 0 {
		return 0, false
	}
	n, err := strconv.Atoi(string(id[:end]))
	return n, err == nil
}
