package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/fleet"
)

// queried are the files that a query may ask for.
type queried struct {
	files   []string
	skipped int // files and folders that are not asked for, by their names
	query   *fleet.Query
	failed  func(error) // with what cannot be listed
}

// find adds a file, or the profiles below a folder, which it knows by their names. It lists folders and opens nothing: an object
// store has neither locks nor times of files that say when a window ended.
func (q *queried) find(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		q.files = append(q.files, path) // whose reading says what is wrong
		return nil
	}
	before := len(q.files) + q.skipped
	// The separator has a link to a folder followed.
	_ = filepath.WalkDir(path+string(filepath.Separator), func(at string, entry fs.DirEntry, err error) error { //nolint:errcheck // it returns SkipDir only
		switch {
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil // was deleted meanwhile
		case err != nil:
			q.failed(fmt.Errorf("list the profiles of a folder: %w", err))
			return nil
		case entry.IsDir():
			if !q.wantsHour(entry.Name()) {
				q.skipped++
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			q.add(at, entry.Name())
		}
		return nil
	})
	if len(q.files)+q.skipped == before {
		return fmt.Errorf("%s has no profile: give a folder with the files that proton run writes, or a spool of proton run --push", path)
	}
	return nil
}

func (q *queried) add(at, name string) {
	_, window := spool.EndOf(name)
	switch {
	case !window && formats.ByPath(name) == nil:
	case !q.wantsName(name):
		q.skipped++
	default:
		q.files = append(q.files, at)
	}
}

// wantsHour says whether a folder may have windows that are asked for: one that is named by an hour has those that begin in it.
func (q *queried) wantsHour(name string) bool {
	hour, is := push.ReadHour(name)
	return !is || hour.Add(time.Hour).After(q.query.Since) && (q.query.Until.IsZero() || hour.Before(q.query.Until))
}

// wantsName says whether a file may be asked for, by what its name says.
func (q *queried) wantsName(name string) bool {
	if end, is := spool.EndOf(name); is {
		return !end.Before(q.query.Since)
	}
	facts, is := push.ReadFileName(name)
	return !is || q.query.TakesStart(facts.Begin) && q.query.TakesRank(facts.Rank)
}

// list returns the files in order, each once.
func (q *queried) list() []string {
	slices.SortFunc(q.files, figures.Natural)
	return slices.Compact(q.files)
}

// errSent is the error of reading a window of a spool that was sent since the spool was listed.
var errSent = errors.New("it was sent")

// readQueried reads profiles and windows in order.
func readQueried(files []string, from fromFlag, visit func(file string, p *profile.Profile, err error)) {
	read := func(i int) (*profile.Profile, error) { return readWindow(files[i], from) }
	readInOrder(files, read, func(i int, p *profile.Profile, err error) { visit(files[i], p, err) })
}

// readWindow reads a profile, or a window of a spool, which a sender may rename and delete meanwhile.
func readWindow(file string, from fromFlag) (*profile.Profile, error) {
	p, err := formats.ReadFileAs(file, from.Format)
	if _, window := spool.EndOf(filepath.Base(file)); !window || !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if p, err = formats.ReadFileAs(spool.OtherName(file), from.Format); errors.Is(err, fs.ErrNotExist) {
		return nil, errSent
	}
	return p, err
}
