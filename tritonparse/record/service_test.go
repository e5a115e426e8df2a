package record

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

// Threads that begin and end traces at once: each trace ends once, and none takes the files of another for those of a
// process that died.
func TestTracesBegunAndEndedByManyThreads(t *testing.T) {
	folder := t.TempDir()
	s := Service{Complain: func(what string) { t.Error(what) }}
	begin, _ := json.Marshal(Options{Folder: folder, Compression: "none"})
	var threads sync.WaitGroup
	for range 4 {
		threads.Go(func() {
			for range 25 {
				_, _ = s.Call("trace.begin", begin) // another may have begun one
				if _, err := s.Call("trace.end", []byte(`{"patience":0}`)); err != nil && !errors.Is(err, errNotBegun) {
					t.Error(err)
				}
			}
		})
	}
	threads.Wait()
	if left, _ := filepath.Glob(filepath.Join(folder, ringPrefix+"*")); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func TestLaunchesThatFindNoRoomAreSaid(t *testing.T) {
	var said []string
	l, err := Begin(Options{Folder: t.TempDir(), Compression: "none"}, func(what string) { said = append(said, what) })
	if err != nil {
		t.Fatal(err)
	}
	*l.ring.word(atLost) = 3
	if counts := l.End(0); counts.Lost != 3 || len(said) != 1 {
		t.Errorf("%+v, said %q", counts, said)
	}
}
