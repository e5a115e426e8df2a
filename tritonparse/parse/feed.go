package parse

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// feed reads files in their order, some of them ahead of their turn.
type feed struct {
	paths   []string // of files that are not read yet
	ahead   int      // how many are read at a time
	depth   int      // batches of each that may wait
	shared  *launchtext.Interner
	options *Options
	open    []*feedFile // in their order
}

// feedFile is a file that is being read; err says why it could not be opened.
type feedFile struct {
	path    string
	reader  *ndjson.Reader
	records *ndjson.Pipeline[parsed]
	err     error
}

func newFeed(paths []string, shared *launchtext.Interner, o *Options) *feed {
	const filesAhead = 4
	workers := runtime.GOMAXPROCS(0)
	ahead := min(filesAhead, workers, len(paths))
	return &feed{paths: paths, ahead: ahead, depth: max(2, 2*workers/ahead), shared: shared, options: o}
}

// next is the next file. The caller closes it.
func (f *feed) next() *feedFile {
	for len(f.open) < f.ahead && len(f.paths) > 0 {
		file := &feedFile{path: f.paths[0]}
		f.paths = f.paths[1:]
		if file.reader, file.err = ndjson.Open(file.path); file.err == nil {
			file.records = ndjson.Start(file.reader, f.depth, f.newParse)
		}
		f.open = append(f.open, file)
	}
	file := f.open[0]
	f.open = f.open[1:]
	return file
}

// deliver passes the records to take, and calls after behind some of them with the place in the file that is read.
func (f *feedFile) deliver(take func(*parsed) error, after func(position int64) error) error {
	if f.err != nil {
		return f.err
	}
	defer f.reader.Close()
	return f.records.Deliver(take, after)
}

// stop ends the reading of files whose turn does not come any more.
func (f *feed) stop() {
	enough := errors.New("enough")
	for _, file := range f.open {
		_ = file.deliver(func(*parsed) error { return enough }, nil)
	}
}

// newParse returns what takes records apart, for one goroutine.
func (f *feed) newParse() ndjson.Parse[parsed] {
	r := launchtext.LaunchReader{In: f.shared}
	return func(rec ndjson.Record, into *parsed, room []jsontext.Member) ([]jsontext.Member, error) {
		changes := into.launch.Changes[:0]
		*into = parsed{}
		var ok bool
		if into.launch, ok = r.Reread(rec.Text, changes); ok {
			into.filter(rec.Text, f.options.Launches)
			return room, nil
		}
		members, err := jsontext.AppendMembers(room[:0], rec.Text)
		if err != nil {
			return members, err
		}
		switch ndjson.TextOf(members, "event_type") {
		case "compilation":
			c := readCompilation(members, f.options)
			into.compilation = &c
		case "launch":
			into.launch = r.Read(rec.Text, members)
			into.filter(rec.Text, f.options.Launches)
		case "autotune":
			t := readTuneResult(members, f.options.quirks)
			into.tuned = &t
		case "compilation_failure":
			into.failed = true
		}
		return members, nil
	}
}

// meter reports the progress of parsing a few times a second.
type meter struct {
	Progress
	tellTo func(Progress)
	before int64 // bytes of the files before
	last   time.Time
	result *Result
}

func newMeter(files []string, tell func(Progress), result *Result) *meter {
	m := &meter{tellTo: tell, last: time.Now(), result: result}
	for _, f := range files {
		m.Size += fileSize(f)
	}
	return m
}

func fileSize(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

func (m *meter) tell(file string, at int64) {
	if m.tellTo == nil || time.Since(m.last) < 200*time.Millisecond {
		return
	}
	m.File, m.Read, m.Launches, m.last = file, m.before+at, m.result.Launches, time.Now()
	m.tellTo(m.Progress)
}

func (m *meter) ended(file string) {
	m.before += fileSize(file)
}
