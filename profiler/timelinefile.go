package profiler

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/chrometrace"
	"github.com/goproton/goproton/profiler/aggregate"
)

// timelineFile is the file to which the timeline of one phase streams. It has a name of its own until the phase is written, or
// until a checkpoint gives it the final name, and holds a complete document after every flush, because a program may be killed
// at any time.
type timelineFile struct {
	file   *ownfile.File // nil until something is written
	writer *chrometrace.Writer
	target func() string // returns the final path; called when the file is made
	placed string        // where it has been put, and is to stay
	closed bool

	inside       *inside.Trace // scopes inside of kernels, which upstream's form has instead of the phase; nil: it has the phase
	instrumented bool          // upstream's form has no phase even if there are no such scopes
	upstream     bool          // the phase is written in upstream's form at the end; until then it is in ours
	inOurs       error         // why the file stayed in our form
}

// newTimelineFile makes the file of a timeline that begins now. Its file comes with its first flush: most processes below `proton run`
// have none to write.
func newTimelineFile(target func() string, now uint64, info profile.Info) *timelineFile {
	f := &timelineFile{target: target}
	f.writer = chrometrace.NewWriter(f, int64(now), &chrometrace.Options{Process: info[profile.InfoName], Info: info, Sealed: true})
	return f
}

// Write makes the file when the first events come.
func (f *timelineFile) Write(b []byte) (int, error) {
	if f.closed {
		return 0, os.ErrClosed
	}
	if f.file == nil {
		if err := f.create(); err != nil {
			return 0, err
		}
	}
	return f.file.Write(b)
}

// Seek is for the writer, which writes over the end of the document.
func (f *timelineFile) Seek(offset int64, whence int) (int64, error) {
	return f.file.Seek(offset, whence)
}

// Truncate is for the writer too, when a write has failed.
func (f *timelineFile) Truncate(size int64) error { return f.file.Truncate(size) }

func (f *timelineFile) create() (err error) {
	path := f.target()
	if path == "" { // standard output, at the end
		path = filepath.Join(os.TempDir(), fmt.Sprintf("proton-%08x%s", rand.Uint32(), timelineSuffix))
		f.file, err = ownfile.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("make the folder of %s: %w; give a name in a folder that can be written", path, err)
	}
	// Not hidden: when the process is killed before its first checkpoint, or executes another program, this is what it
	// leaves. That other program has the same number.
	name := path + "." + strconv.Itoa(os.Getpid())
	for n := 2; ; n++ {
		f.file, err = ownfile.Open(name+".part", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		name = fmt.Sprintf("%s.%d-%d", path, os.Getpid(), n)
	}
}

// checkpoint puts the file, as far as it has come, where the phase will be written.
func (f *timelineFile) checkpoint(path string) error {
	if err := f.writer.Flush(); err != nil || f.placed == path || path == "" {
		return err
	}
	if err := f.file.Rename(path); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	f.placed = path
	return nil
}

// finish ends the document and puts the file in its place; "" is standard output.
func (f *timelineFile) finish(path string) error {
	if err := f.writer.Close(); err != nil {
		return err
	}
	defer f.close()
	if f.upstream {
		if f.inOurs = f.rewrite(path); f.inOurs == nil {
			return nil
		}
	}
	return f.place(path)
}

// place puts the file where the phase is to be; "" is standard output.
func (f *timelineFile) place(path string) error {
	if path != "" {
		return f.checkpoint(path)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(ownfile.Stdout, f.file)
	return err
}

// mostRewritten is the size of the largest timeline that is rewritten, which takes about its size in memory. A variable for tests.
var mostRewritten int64 = 1 << 30

// rewrite writes the phase in upstream's form, in place of a checkpoint if there is one.
func (f *timelineFile) rewrite(path string) error {
	if f.inside != nil && (f.instrumented || f.inside.Launches() > 0) {
		return f.replace(path, f.inside.Write)
	}
	if size, err := f.file.Size(); err != nil || size > mostRewritten {
		return cmp.Or(err, fmt.Errorf("%d MiB are too many to be rewritten in memory", size>>20))
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p, err := chrometrace.Read(f.file)
	if err != nil {
		return err
	}
	return f.replace(path, func(w io.Writer) error { return chrometrace.WriteUpstream(w, p) })
}

// replace writes another file than that of the timeline.
func (f *timelineFile) replace(path string, write func(io.Writer) error) error {
	if path == "" {
		return write(ownfile.Stdout)
	}
	if err := ownfile.Replace(path, write); err != nil {
		return err
	}
	if f.placed != "" && f.placed != path {
		os.Remove(f.placed)
	}
	return nil
}

// failed keeps what was written of a timeline that could not be completed, and says where it is.
func (f *timelineFile) failed(err error) error {
	if f.file == nil {
		return err
	}
	if f.placed == "" {
		f.placed = f.file.Name()
	}
	return fmt.Errorf("%w; %s has what was written until then", err, f.placed)
}

// close lets go of the file, and removes it unless it has been put where it is to stay.
func (f *timelineFile) close() {
	f.closed = true
	if f.file == nil {
		return
	}
	f.file.Close()
	if f.placed == "" {
		os.Remove(f.file.Name())
	}
}

// newTrace makes the timeline of a session's current phase, and its file.
func (d *drainer) newTrace(s *session, now uint64) *aggregate.Timeline {
	phase := s.phase
	f := newTimelineFile(func() string { return s.path(phase, timelineFormat) }, now, s.info)
	f.upstream = s.upstream
	s.timelines[phase] = f
	t := aggregate.NewTimeline(f.writer, d.source.APIName)
	if s.upstream && d.showsInside(s) {
		f.inside, f.instrumented = &inside.Trace{}, s.inside != nil
		t.InsideTrace = f.inside
	}
	return t
}

// writeTimeline brings a phase's timeline to where it is to be written; last ends it.
func (d *drainer) writeTimeline(s *session, t *aggregate.Tree, path string, now uint64, last bool) error {
	f := s.timelines[t.Phase]
	if f.closed {
		return nil // written: a checkpoint or a round has begun before the end of the session, or before it had failed to write another phase
	}
	if last {
		t.Timeline.Finish(now)
	}
	var devices []profile.Device
	for _, device := range t.Timeline.Devices() {
		devices = append(devices, d.source.Device(device))
	}
	f.writer.Facts(devices, t.Kinds())
	if !last {
		return f.checkpoint(path)
	}
	if err := f.finish(path); err != nil {
		return f.failed(err)
	}
	if f.inside != nil && f.inside.Left > 0 {
		d.problem(fmt.Sprintf("the trace has no room for %d times that warps were in scopes: trace fewer launches, or select warps (sampling_options)", f.inside.Left))
	}
	if f.inOurs != nil {
		d.problem(fmt.Sprintf("the trace is in GoProton's form instead of that of Triton's profiler: %v; `proton viewer` and Perfetto read both", f.inOurs))
	}
	return nil
}

// flushTimelines has every timeline on disk up to now, so that a kill costs little.
func (d *drainer) flushTimelines() {
	for _, s := range d.list {
		for phase, f := range s.timelines {
			if f.closed || s.trees[phase].Timeline.Slices() == 0 {
				continue
			}
			if err := f.writer.Flush(); err != nil {
				d.problem(fmt.Sprintf("the trace is incomplete: %v", err))
			}
		}
	}
}
