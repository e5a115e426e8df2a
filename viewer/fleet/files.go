package fleet

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
	"github.com/goproton/goproton/profile/formats"
)

// Files are the files that a query may ask for.
type Files struct {
	files   []string
	Skipped int // files and folders that are not asked for, by their names
	Query   *Query
	Failed  func(error) // with what cannot be listed
}

// Find adds a file, or the profiles below a folder, which it knows by their names. It lists folders and opens nothing: an object
// store has neither locks nor times of files that say when a window ended.
func (q *Files) Find(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		q.files = append(q.files, path) // whose reading says what is wrong
		return nil
	}
	before := len(q.files) + q.Skipped
	// The separator has a link to a folder followed.
	_ = filepath.WalkDir(path+string(filepath.Separator), func(at string, entry fs.DirEntry, err error) error { //nolint:errcheck // it returns SkipDir only
		switch {
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil // was deleted meanwhile
		case err != nil:
			q.Failed(fmt.Errorf("list the profiles of a folder: %w", err))
			return nil
		case entry.IsDir():
			if !q.wantsHour(entry.Name()) {
				q.Skipped++
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			q.add(at, entry.Name())
		}
		return nil
	})
	if len(q.files)+q.Skipped == before {
		return fmt.Errorf("%s has no profile: give a folder with the files that proton run writes, or a spool of proton run --push", path)
	}
	return nil
}

func (q *Files) add(at, name string) {
	_, window := spool.EndOf(name)
	switch {
	case !window && formats.ByPath(name) == nil:
	case !q.wantsName(name):
		q.Skipped++
	default:
		q.files = append(q.files, at)
	}
}

// wantsHour says whether a folder may have windows that are asked for: one that is named by an hour has those that begin in it.
func (q *Files) wantsHour(name string) bool {
	hour, is := push.ReadHour(name)
	return !is || hour.Add(time.Hour).After(q.Query.Since) && (q.Query.Until.IsZero() || hour.Before(q.Query.Until))
}

// wantsName says whether a file may be asked for, by what its name says.
func (q *Files) wantsName(name string) bool {
	if end, is := spool.EndOf(name); is {
		return !end.Before(q.Query.Since)
	}
	facts, is := push.ReadFileName(name)
	return !is || q.Query.TakesStart(facts.Begin) && q.Query.TakesRank(facts.Rank)
}

// List returns the files in order, each once.
func (q *Files) List() []string {
	slices.SortFunc(q.files, figures.Natural)
	return slices.Compact(q.files)
}
