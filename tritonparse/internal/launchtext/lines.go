package launchtext

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
)

// LineReader reads launches as parsing writes them: a line for each, with the members that parsing adds at its end.
type LineReader struct {
	LaunchReader
	changes []Change
}

var errLine = errors.New("BUG: a line read back while parsing is not a launch")

// Each calls f with the launches of a text and their occurrence ids, until it returns false. A launch is valid until then.
func (r *LineReader) Each(text []byte, f func(l *Launch, id int) bool) error {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n')
		if n < 0 {
			return errLine
		}
		if more, err := r.line(text[:n], f); err != nil || !more {
			return err
		}
		text = text[n+1:]
	}
	return nil
}

func (r *LineReader) line(line []byte, f func(l *Launch, id int) bool) (more bool, err error) {
	at := bytes.LastIndex(line, []byte(`,"launch_group_hash":"`))
	if at < 0 {
		return false, errLine
	}
	id, ok := lineID(line[at:])
	if !ok {
		return false, errLine
	}
	line[at] = '}' // so that the record ends before what parsing added
	defer func() { line[at] = ',' }()
	record := line[:at+1]
	l, ok := r.Reread(record, r.changes)
	if ok {
		r.changes = l.Changes
	} else {
		members, err := jsontext.Members(record)
		if err != nil {
			return false, err
		}
		l = r.Read(record, members)
	}
	return f(&l, id), nil
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
