package parse

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/field"
	"github.com/goproton/goproton/internal/trace/launchtext"
	"github.com/goproton/goproton/internal/trace/ndjson"
)

// feed reads files, some at a time, and parses their records on all cores. Batches of one file come in its order.
type feed struct {
	files   []*feedFile
	at      int
	ahead   chan struct{} // one for each file that is read before its turn
	work    chan *batch
	free    chan *batch
	stopped chan struct{}
	wg      sync.WaitGroup
}

// feedFile is one file of a feed.
type feedFile struct {
	path    string
	batches chan *batch
	reader  *ndjson.Reader // once batches is closed
	err     error
	bad     []badRecord
	more    int // bad records that are only counted
}

type badRecord struct {
	rec ndjson.Record
	err error
}

// batch is some records of one file.
type batch struct {
	records ndjson.Batch
	parsed  []parsed
	changes []launchtext.Change
	at      int64 // how far the file is read
	done    chan struct{}
}

const (
	batchBytes = 256 << 10 // handed to a worker at once
	filesAhead = 4         // open at a time at most
)

func startFeed(paths []string, shared *launchtext.Interner, o *Options) *feed {
	workers := runtime.GOMAXPROCS(0)
	open := min(filesAhead, workers, len(paths))
	depth := max(2, 2*workers/open)
	f := &feed{
		ahead: make(chan struct{}, open), work: make(chan *batch, workers), free: make(chan *batch, 2*workers), stopped: make(chan struct{}),
	}
	for _, path := range paths {
		f.files = append(f.files, &feedFile{path: path, batches: make(chan *batch, depth)})
	}
	for range workers {
		f.wg.Add(1)
		go func() {
			defer f.wg.Done()
			reader := launchtext.LaunchReader{In: shared}
			for {
				select {
				case b := <-f.work:
					b.parse(&reader, o)
					close(b.done)
				case <-f.stopped:
					return
				}
			}
		}()
	}
	f.wg.Add(1)
	go f.open()
	return f
}

// open starts to read one file after the other.
func (f *feed) open() {
	defer f.wg.Done()
	for _, file := range f.files {
		select {
		case f.ahead <- struct{}{}:
		case <-f.stopped:
			return
		}
		f.wg.Add(1)
		go func() {
			defer f.wg.Done()
			defer close(file.batches)
			f.read(file)
		}()
	}
}

func (f *feed) read(file *feedFile) {
	r, err := ndjson.Open(file.path)
	if err != nil {
		file.err = err
		return
	}
	file.reader = r
	for err == nil {
		b := f.batch()
		err = r.Fill(&b.records, batchBytes)
		b.at = r.Position()
		if len(b.records.Records) == 0 {
			f.recycle(b)
			continue
		}
		select {
		case file.batches <- b:
		case <-f.stopped:
			return
		}
		select {
		case f.work <- b:
		case <-f.stopped:
			return
		}
	}
	if !errors.Is(err, io.EOF) {
		file.err = err
	}
}

func (f *feed) batch() *batch {
	select {
	case b := <-f.free:
		b.done = make(chan struct{})
		return b
	default:
		return &batch{done: make(chan struct{})}
	}
}

// recycle takes back a batch whose records have been taken.
func (f *feed) recycle(b *batch) {
	if b.records.Size() > 4*batchBytes {
		return // of a long record
	}
	clear(b.parsed)
	clear(b.changes)
	b.parsed, b.changes = b.parsed[:0], b.changes[:0]
	select {
	case f.free <- b:
	default:
	}
}

// next is the next file, when the one before has been taken.
func (f *feed) next() *feedFile {
	if f.at > 0 {
		<-f.ahead
	}
	file := f.files[f.at]
	f.at++
	return file
}

func (f *feed) stop() {
	close(f.stopped)
	f.wg.Wait()
	for _, file := range f.files {
		if file.reader != nil {
			file.reader.Close()
		}
	}
}

// wrong keeps a record that is none.
func (f *feedFile) wrong(rec ndjson.Record, err error) {
	if len(f.bad) >= ndjson.MaxDamages {
		f.more++
		return
	}
	rec.Text = nil
	f.bad = append(f.bad, badRecord{rec, err})
}

func (f *feedFile) end() ([]ndjson.Damage, int, error) {
	if f.reader == nil {
		return nil, 0, f.err
	}
	for _, b := range f.bad {
		f.reader.Report(b.rec, "not a record: "+b.err.Error())
	}
	damages, n := f.reader.Damages()
	return damages, n + f.more, f.err
}

func (b *batch) parse(r *launchtext.LaunchReader, o *Options) {
	var members []jsontext.Member
	for _, rec := range b.records.Records {
		b.parsed = append(b.parsed, parsed{})
		into := &b.parsed[len(b.parsed)-1]
		var ok bool
		if into.launch, b.changes, ok = r.Reread(rec.Text, b.changes); ok {
			into.filter(rec.Text, o.Launches)
			continue
		}
		if members, into.err = jsontext.AppendMembers(members[:0], rec.Text); into.err != nil {
			continue
		}
		switch field.TextOf(members, "event_type") {
		case "compilation":
			c := readCompilation(members, o)
			into.compilation = &c
		case "launch":
			into.launch = r.Read(rec.Text, members)
			into.filter(rec.Text, o.Launches)
		case "autotune":
			t := readTuneResult(members, o.quirks)
			into.tuned = &t
		}
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
