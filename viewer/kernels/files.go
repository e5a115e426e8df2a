package kernels

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/profile"
)

// mostLines bounds the number of a line whose text is kept, since a profile may name any.
const mostLines = 1 << 20

// Files finds the texts of source files, which may have been moved, changed or deleted since the profile was made. It caches
// them, and is not safe for concurrent use.
type Files struct {
	Moves []string  // OLD=NEW replaces the folder at the start of a path; a folder alone is searched for the ends of paths
	Near  []string  // folders that are searched if a file is not at its recorded path
	Below string    // only files below this folder are read; "" reads all
	Since time.Time // time of the profile: newer files may have other lines; zero if unknown

	none  bool
	known map[string][]piece
	kept  map[string]*profile.SourceText
	texts map[string]*Text
}

// piece is a part of a file whose text a trace or the profile has recorded.
type piece struct {
	first int
	lines []string
}

// Add sets the text of a part of a file as it was compiled; first is the number of its first line. The text is used where the
// file is missing or has changed. Parts contradict each other if the file was changed between two compilations; the first part
// that was added is then used. Call Add before Text.
func (f *Files) Add(recorded string, first int, text string) {
	if f.known == nil {
		f.known = map[string][]piece{}
	}
	if first > 0 && first <= mostLines {
		f.known[recorded] = append(f.known[recorded], piece{first, splitLines([]byte(text))})
	}
}

// Keep sets the lines of source files that the profile recorded. They are used where the file is missing or differs in those
// lines. Of two versions of a file the first is used. Call Keep before Text.
func (f *Files) Keep(sources []profile.SourceText) {
	if f.kept == nil {
		f.kept = map[string]*profile.SourceText{}
	}
	for i := range sources {
		if s := &sources[i]; f.kept[s.File] == nil && len(s.Lines) > 0 && s.Lines[len(s.Lines)-1].Number <= mostLines {
			f.kept[s.File] = s
		}
	}
}

// orKept returns the text of the file that was found if it has the recorded checksum, or equals the recorded lines. Otherwise
// it returns the recorded lines.
func (t *Text) orKept(kept *profile.SourceText) *Text {
	if t.Err == nil && t.sha256 == kept.SHA256 {
		return &Text{Path: t.Path, lines: t.lines}
	}
	var lines []piece
	for _, l := range kept.Lines {
		lines = append(lines, piece{l.Number, []string{l.Text}})
	}
	if t.says(lines) {
		return &Text{Path: t.Path, lines: t.lines}
	}
	text := textOf(kept.File, lines)
	text.Kept, text.Missing = true, t.Err != nil
	return text
}

// says reports whether a file was read and contains the recorded parts.
func (t *Text) says(known []piece) bool {
	for _, k := range known {
		for i, line := range k.lines {
			if have, found := t.Line(k.first + i); !found || have != line {
				return false
			}
		}
	}
	return t.Err == nil
}

// textOf makes a text of the recorded parts of a file. All other lines are empty.
func textOf(recorded string, known []piece) *Text {
	t := &Text{Path: recorded}
	written := map[int]string{}
	for _, k := range known {
		if contradicts(written, k) {
			t.Edited = true
			continue
		}
		if missing := k.first - 1 + len(k.lines) - len(t.lines); missing > 0 {
			t.lines = append(t.lines, make([]string, missing)...)
		}
		copy(t.lines[k.first-1:], k.lines)
		for i, line := range k.lines {
			written[k.first+i] = line
		}
	}
	return t
}

func contradicts(written map[int]string, k piece) bool {
	for i, line := range k.lines {
		if other, known := written[k.first+i]; known && other != line {
			return true
		}
	}
	return false
}

// NoFiles returns Files that read nothing, so that no text is found.
func NoFiles() *Files { return &Files{none: true} }

// Text is the text of a source file.
type Text struct {
	Path    string // where the file was found, or its recorded path
	Changed bool   // the file is newer than the profile
	Edited  bool   // the file was changed between compilations: this is the text of the first that was added
	Kept    bool   // the lines are those that the profile recorded; others are empty
	Missing bool   // Kept is set because the file could not be read
	Err     error  // why there is no text
	sha256  string // of the file
	lines   []string
}

// Line returns a line, counted from 1, and whether there is one.
func (t *Text) Line(number int) (string, bool) {
	if number < 1 || number > len(t.lines) {
		return "", false
	}
	return t.lines[number-1], true
}

// Lines is how many lines the text has.
func (t *Text) Lines() int { return len(t.lines) }

// CheckMoves returns an error if an element of Moves does not name an existing folder.
func (f *Files) CheckMoves() error {
	for _, m := range f.Moves {
		old, folder, both := strings.Cut(m, "=")
		if !both {
			folder = m
		}
		if both && old == "" || folder == "" {
			return fmt.Errorf("read --source-path %q: write OLD=NEW, or a folder to search", m)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("read --source-path %q: %s is not a folder", m, folder)
		}
	}
	return nil
}

// Text returns the text of a file by the path that the compiler recorded. It never returns nil; see Text.Err.
func (f *Files) Text(recorded string) *Text {
	if t := f.texts[recorded]; t != nil {
		return t
	}
	t := f.find(recorded)
	if known := f.known[recorded]; known != nil && t.says(known) {
		t = &Text{Path: t.Path, lines: t.lines}
	} else if known != nil {
		t = textOf(recorded, known)
	} else if kept := f.kept[recorded]; kept != nil {
		t = t.orKept(kept)
	}
	if f.texts == nil {
		f.texts = map[string]*Text{}
	}
	f.texts[recorded] = t
	return t
}

func (f *Files) find(recorded string) *Text {
	if f.none {
		return &Text{Err: os.ErrNotExist}
	}
	if !foreign.IsSource(recorded) {
		return &Text{Err: errors.New("its name is not that of a source file")}
	}
	err := fmt.Errorf("%s: %w", recorded, os.ErrNotExist)
	for _, candidate := range f.candidates(recorded) {
		t, failed := f.read(candidate)
		if failed == nil {
			return t
		}
		if !errors.Is(failed, os.ErrNotExist) && !errors.Is(failed, syscall.ENOTDIR) {
			err = failed
		}
	}
	return &Text{Err: err}
}

// candidates are the paths where a file may be, in the order in which they are tried.
func (f *Files) candidates(recorded string) []string {
	var all []string
	for _, m := range f.Moves {
		old, folder, both := strings.Cut(m, "=")
		if !both {
			all = append(all, ends(m, recorded)...)
		} else if rest, below := strings.CutPrefix(recorded, strings.TrimSuffix(old, "/")+"/"); below {
			all = append(all, filepath.Join(folder, rest))
		}
	}
	if filepath.IsAbs(recorded) {
		all = append(all, recorded)
	}
	for _, folder := range f.Near {
		all = append(all, ends(folder, recorded)...)
	}
	return all
}

// ends joins a folder with the ends of a path, the longest first: for /home/a/src/k.py these are home/a/src/k.py, a/src/k.py,
// src/k.py and k.py.
func ends(folder, recorded string) []string {
	parts := strings.Split(strings.Trim(recorded, "/"), "/")
	if slices.Contains(parts, "..") || len(parts) > 64 {
		return nil
	}
	var all []string
	for i := range parts {
		all = append(all, filepath.Join(append([]string{folder}, parts[i:]...)...))
	}
	return all
}

func (f *Files) read(file string) (*Text, error) {
	if f.Below != "" && !isBelow(f.Below, file) {
		return nil, fmt.Errorf("%s is not below %s: %w", file, f.Below, os.ErrNotExist)
	}
	h, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a named pipe must not block
	if err != nil {
		return nil, err
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !foreign.MayShow(file) {
		return nil, fmt.Errorf("%s is not a source file", file)
	}
	if info.Size() > foreign.LargestSource {
		return nil, fmt.Errorf("%s has %d MB; sources of up to %d MB are shown", file, info.Size()>>20, foreign.LargestSource>>20)
	}
	b, err := io.ReadAll(io.LimitReader(h, foreign.LargestSource))
	if err != nil {
		return nil, err
	}
	t := &Text{Path: file, Changed: !f.Since.IsZero() && info.ModTime().After(f.Since), sha256: fmt.Sprintf("%x", sha256.Sum256(b))}
	t.lines = splitLines(b)
	return t, nil
}

// isBelow says whether a file lies in a folder, links followed.
func isBelow(folder, file string) bool {
	from, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	if file, err = filepath.Abs(file); err != nil {
		return false
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return false
	}
	rest, err := filepath.Rel(from, file)
	return err == nil && filepath.IsLocal(rest)
}

func splitLines(b []byte) []string {
	var lines []string
	for line := range bytes.Lines(b) {
		lines = append(lines, string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})))
	}
	return lines
}
