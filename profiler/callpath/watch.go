package callpath

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
)

// Watch keeps the launches that have not ended, for a program that may hang. A nil Watch keeps nothing. Streams are in it by the keys
// that launches have (Record.Stream), functions by their handles.
type Watch struct {
	Moves uint64 // grows with each launch, and each record of finished work
	Last  Unended
	Late  bool // records that come now are of work that has ended long ago: they are not a sign of life

	open    map[uint64]Unended   // by correlation id
	current map[uintptr]uint32   // thread → the stream of its last launch
	ended   map[uint32]uint64    // stream → the last of its launches that has ended: CUDA and HIP end those of one stream in order
	streams map[uint32]uint32    // stream → the number that activity records have for it
	names   map[uint64]string    // function → the name of its kernel
	counts  map[uint64]uint64    // function → how often it was launched
	samples map[SampledAt]uint64 // taken since work ended last
}

// Unended is a launch whose end was not reported.
type Unended struct {
	Place
	Order    uint64 // correlation id
	Function uint64
	Graph    bool      // Function is an executable graph
	Key      uint32    // of the stream; 0 = not known
	Seen     time.Time // when it was drained
	Stream   uint32    // as activity records number it; 0 = not known
	Kernel   string    // "" if it is not known, or a graph
}

// NewWatch returns a watch without launches.
func NewWatch() *Watch {
	return &Watch{
		open: map[uint64]Unended{}, current: map[uintptr]uint32{}, ended: map[uint32]uint64{}, streams: map[uint32]uint32{},
		names: map[uint64]string{}, counts: map[uint64]uint64{}, samples: map[SampledAt]uint64{},
	}
}

func (w *Watch) launched(thread uintptr, rec *hotpath.Record) {
	if w == nil {
		return
	}
	key := cmp.Or(rec.Stream, w.current[thread])
	u := Unended{Place: place(rec), Order: rec.Correlation(), Function: rec.Function(), Graph: rec.Type == hotpath.GraphLaunch, Key: key, Seen: time.Now()}
	if len(w.open) > maxWaiting {
		clear(w.open)
	}
	w.Moves++
	w.Last = u
	w.open[u.Order] = u
	if u.Function != 0 && !u.Graph {
		w.counts[u.Function]++
	}
}

// returned learns the stream of a launch, and that of the thread's next ones, or that the launch failed.
func (w *Watch) returned(thread uintptr, rec *hotpath.Record) {
	switch {
	case w == nil:
		return
	case rec.Op != 0:
		w.drop(rec.Correlation())
		return
	}
	w.current[thread] = rec.Stream
	if symbol := rec.Symbol(); symbol != 0 {
		w.names[rec.Function()] = hotpath.Text(symbol)
	}
	u, open := w.open[rec.Correlation()]
	if !open {
		return
	}
	if u.Function == 0 { // a record for a timeline has the time in its place
		if u.Function = rec.Function(); !u.Graph {
			w.counts[u.Function]++
		}
	}
	u.Key = rec.Stream
	w.open[u.Order] = u
	if w.Last.Order == u.Order {
		w.Last = u
	}
}

// Ended takes a record of finished work.
func (w *Watch) Ended(k *record.Activity) {
	if w == nil || !k.Timed() { // a record that was forced out of the vendor's library while its kernel runs
		return
	}
	if !w.Late {
		w.Moves++
		clear(w.samples)
	}
	u, open := w.open[k.Correlation]
	if !open {
		return
	}
	switch {
	case u.Graph:
		w.names[u.Function] = ""
	case u.Function != 0 && k.Kind == record.Kernel && w.names[u.Function] != k.Name:
		w.names[u.Function] = k.Name
	}
	if u.Key != 0 {
		w.ended[u.Key] = Latest(w.ended[u.Key], u.Order)
		w.streams[u.Key] = k.Stream
	}
	if !u.Graph { // more records of a graph may come
		delete(w.open, u.Order)
	}
}

func (w *Watch) drop(order uint64) {
	if w != nil {
		delete(w.open, order)
	}
}

func (w *Watch) places(pass func(Place)) {
	if w == nil {
		return
	}
	for _, u := range w.open {
		pass(u.Place)
	}
	pass(w.Last.Place)
}

// Idle forgets all launches up to one: the GPU has nothing to do, so those without a record failed, or belong to no session.
func (w *Watch) Idle(until uint64) {
	maps.DeleteFunc(w.open, func(order uint64, _ Unended) bool { return !Later(order, until) })
}

// Unended returns, oldest first, the launches that each stream works at: the first of it that has not ended, without those that must have
// failed because a later one of the stream has ended. waiting is how many more there are.
func (w *Watch) Unended() (first []Unended, waiting int) {
	byStream := map[uint32]Unended{}
	for _, u := range w.open {
		if done, some := w.ended[u.Key]; some && u.Key != 0 && (Later(done, u.Order) || done == u.Order && !u.Graph) {
			continue
		}
		waiting++
		if other, some := byStream[u.Key]; !some || Later(other.Order, u.Order) {
			byStream[u.Key] = u
		}
	}
	for _, u := range byStream {
		first = append(first, w.Named(u))
	}
	slices.SortFunc(first, func(a, b Unended) int {
		if Later(a.Order, b.Order) {
			return 1
		}
		return -1
	})
	return first, waiting - len(first)
}

// Named fills in what is known of the launch's kernel and stream.
func (w *Watch) Named(u Unended) Unended {
	u.Stream = w.streams[u.Key]
	if u.Function != 0 && !u.Graph {
		u.Kernel = w.names[u.Function]
	}
	return u
}

// OnlyNewGraphs reports whether all that has not ended are graphs, of which one has never ended before.
func (w *Watch) OnlyNewGraphs() (only bool) {
	for _, u := range w.open {
		if !u.Graph {
			return false
		}
		_, before := w.names[u.Function]
		only = only || !before
	}
	return only
}

// SampledAt is an instruction in which samples fell.
type SampledAt struct {
	Module   uint64
	Function string
	Index    uint32 // of the function in its module
	Offset   uint64
}

// Sample takes a sample. While nothing ends, the samples are those of what runs.
func (w *Watch) Sample(s *record.Sample) {
	if w == nil {
		return
	}
	at := SampledAt{s.Module, s.Function, s.Index, s.Offset}
	for _, stall := range s.Stalls {
		w.samples[at] += uint64(stall.Samples)
	}
}

// Sampled is the instruction of a kernel in which most samples fell since work ended last.
func (w *Watch) Sampled(kernel string) (most SampledAt, some bool) {
	for at, n := range w.samples {
		if at.Function == kernel && (n > w.samples[most] || n == w.samples[most] && at.Offset < most.Offset) {
			most, some = at, true
		}
	}
	return most, some
}

// Counts passes how often each kernel was launched.
func (w *Watch) Counts(each func(kernel string, launches uint64)) {
	for function, n := range w.counts {
		each(w.names[function], n)
	}
}
