package idle_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/chrometrace"
	"github.com/goproton/goproton/profile/perfetto"
	"github.com/goproton/goproton/viewer/idle"
)

// A world is what some processes and their GPUs did, and how a program writes it that knows torch's form only.
type world struct {
	ranks                    int
	pids, gpus, names, order string
	sameDevice, offset, lost bool // every rank has GPU 0; ids differ between ranks; some launches are not in the file
	arrows, correlations     bool
	events                   []event
	want                     map[string]int64  // time of kernels by scope, "" for the root
	busy                     map[string][]span // by GPU
	starts                   map[int64]bool    // of kernels
	all                      int64
}

type span struct{ from, to int64 }

type event struct {
	rank int
	gpu  bool
	at   int64
	text string
}

func (w *world) String() string {
	return fmt.Sprintf("%d ranks, pids %s, GPUs %s, names %s, order %s, same device %v, ids differ %v, lost %v, arrows %v, correlations %v",
		w.ranks, w.pids, w.gpus, w.names, w.order, w.sameDevice, w.offset, w.lost, w.arrows, w.correlations)
}

func randomWorld(r *rand.Rand) *world {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	w := &world{ranks: 1 + r.IntN(3), pids: pick("numbers", "numbers", "labels", "suffixes", "equal"), gpus: pick("devices", "devices", "own"), names: pick("none", "python", "ranks"),
		order: pick("parts", "files", "hosts first", "time"), sameDevice: r.IntN(2) == 0, offset: r.IntN(2) == 0, lost: r.IntN(3) == 0,
		arrows: r.IntN(2) == 0, want: map[string]int64{}, busy: map[string][]span{}, starts: map[int64]bool{}}
	w.correlations = !w.arrows || r.IntN(4) > 0
	if w.pids == "equal" || w.order == "parts" {
		w.order = "parts" // else nothing separates them
		if w.names == "none" {
			w.names = "python"
		}
	}
	if !w.correlations {
		w.offset, w.lost = true, false
	}
	for rank := range w.ranks {
		w.rank(r, rank)
	}
	return w
}

func (w *world) pid(rank int, gpu bool, device int) any {
	id := 100 + rank
	if w.pids == "equal" || w.pids == "labels" {
		id = 1
	}
	if gpu && w.gpus == "devices" {
		id = device
	}
	switch w.pids {
	case "labels":
		return fmt.Sprintf("[TP%02d-DP00] %d", rank, id)
	case "suffixes":
		return fmt.Sprintf("%d (rank %d)", id, rank)
	}
	return id
}

func (w *world) add(rank int, gpu bool, at int64, format string, args ...any) {
	w.events = append(w.events, event{rank, gpu, at, fmt.Sprintf(format, args...)})
}

func quoted(pid any) string {
	if text, is := pid.(string); is {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(pid)
}

func micros(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

// rank makes up what a process does: scopes that follow each other, in them launches of one or a few kernels.
func (w *world) rank(r *rand.Rand, rank int) {
	device := 0
	if !w.sameDevice {
		device = rank
	}
	host, gpu := quoted(w.pid(rank, false, device)), quoted(w.pid(rank, true, device))
	id := 1
	if w.offset {
		id += 10_000 * rank
	}
	name := "python"
	if w.names == "ranks" {
		name = fmt.Sprint("rank ", rank)
	}
	w.nameProcesses(rank, name, host, gpu)
	at, free := int64(1000), int64(1000)
	const far = 1 << 40 // before everything, so that names come first also in order of time
	kernel := func(scope string, start int64, id int) {
		for start = max(start, free) + r.Int64N(300); w.starts[start]; start++ { // an arrow leads to a lane and a time
		}
		w.starts[start] = true
		free = start + 1 + r.Int64N(500)
		correlation := ""
		if w.correlations {
			correlation = fmt.Sprintf(`,"correlation":%d`, id)
		}
		w.add(rank, true, start, `{"ph":"X","cat":"kernel","name":"gemm","pid":%s,"tid":7,"ts":%s,"dur":%s,"args":{"device":%d,"stream":7%s}}`, gpu, micros(start), micros(free-start), device, correlation)
		if w.arrows && scope != "" {
			w.add(rank, true, start, `{"ph":"f","cat":"ac2g","id":%d,"pid":%s,"tid":7,"ts":%s,"bp":"e"}`, id, gpu, micros(start))
		}
		w.want[scope] += free - start
		w.all += free - start
		place := fmt.Sprint(rank, " ", device)
		w.busy[place] = append(w.busy[place], span{start, free})
	}
	for range 3 + r.IntN(5) {
		scope := fmt.Sprintf("rank %d scope %d", rank, r.IntN(4))
		start := at
		launches := 1 + r.IntN(4)
		end := start + int64(launches)*100 + 50
		w.add(rank, false, start, `{"ph":"X","cat":"cpu_op","name":%q,"pid":%s,"tid":%d,"ts":%s,"dur":%s}`, scope, host, 9+rank, micros(start), micros(end-start))
		for range launches {
			at += 20 + r.Int64N(50)
			correlation := ""
			if w.correlations {
				correlation = fmt.Sprintf(`,"correlation":%d`, id)
			}
			w.add(rank, false, at, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%s,"tid":%d,"ts":%s,"dur":0.010,"args":{"cbid":211%s}}`, host, 9+rank, micros(at), correlation)
			if w.arrows {
				w.add(rank, false, at, `{"ph":"s","cat":"ac2g","id":%d,"pid":%s,"tid":%d,"ts":%s}`, id, host, 9+rank, micros(at))
			}
			kernels := 1
			if w.correlations && r.IntN(5) == 0 {
				kernels = 3 // a graph
			}
			for range kernels {
				kernel(scope, at+15, id)
			}
			id++
		}
		at = end + r.Int64N(200)
	}
	if w.lost {
		kernel("", at, id+5000)
	}
	if w.order == "parts" {
		w.add(rank, true, far, `{"ph":"i","name":"Record Window End","pid":"","tid":"","ts":0,"s":"g"}`)
	}
}

func (w *world) nameProcesses(rank int, name, host, gpu string) {
	if w.names == "none" {
		return
	}
	for _, pid := range []string{host, gpu} {
		w.add(rank, pid == gpu, -1, `{"ph":"M","name":"process_name","pid":%s,"tid":0,"args":{"name":%q}}`, pid, name)
	}
}

// write puts the events in order.
func (w *world) write() []byte {
	switch w.order {
	case "hosts first":
		slices.SortStableFunc(w.events, func(a, b event) int {
			return boolean(a.gpu) - boolean(b.gpu)
		})
	case "time":
		slices.SortStableFunc(w.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	}
	var b bytes.Buffer
	b.WriteString(`{"schemaVersion":1,"baseTimeNanoseconds":1782700000000000000,"traceEvents":[`)
	for i, e := range w.events {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(e.text)
	}
	b.WriteString("]}")
	return b.Bytes()
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// clear says whether the file says what belongs together.
func (w *world) clear() bool {
	return w.ranks == 1 || w.pids != "numbers" || w.gpus == "own" || w.offset || w.order == "parts" || w.order == "files"
}

// TestProcesses: the time below each scope is that of the kernels which it launched, and each GPU is as busy as its kernels say. Where the file does
// not say which process a kernel is of, it stands at the root, and a note has the share of such time.
func TestProcesses(t *testing.T) {
	unclear, seeds := 0, uint64(300)
	if testkit.All() {
		seeds = 5000
	}
	for seed := range seeds {
		w := randomWorld(rand.New(rand.NewPCG(seed, 3)))
		p, err := chrometrace.Read(bytes.NewReader(w.write()))
		if err != nil {
			t.Fatal(err)
		}
		if !w.clear() {
			unclear++
			w.checkUnclear(t, seed, p)
			continue
		}
		if !w.check(t, seed, p) {
			t.Fatalf("%s", w.write())
		}
		for name, through := range map[string]func(*profile.Profile) (*profile.Profile, error){"chrome_trace": throughChrome, "perfetto": throughPerfetto} {
			again, err := through(p)
			if err != nil {
				t.Fatal(err)
			}
			if !w.check(t, seed, again) {
				t.Fatalf("as %s", name)
			}
		}
	}
	if unclear < int(seeds)/50 {
		t.Errorf("only %d of the files were unclear", unclear)
	}
}

func throughChrome(p *profile.Profile) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := chrometrace.Write(&b, p); err != nil {
		return nil, err
	}
	return chrometrace.Read(&b)
}

func throughPerfetto(p *profile.Profile) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := perfetto.Write(&b, p); err != nil {
		return nil, err
	}
	return perfetto.Read(&b)
}

// scopes are the times of kernels by the frame above them, "" for the root.
func scopes(p *profile.Profile) map[string]int64 {
	found := map[string]int64{}
	var path []string
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		path = append(path[:depth], n.Name)
		if v, has := n.Metric(profile.TimeMetric); has {
			above := ""
			if depth > 1 {
				above = strings.Join(path[1:depth], " > ")
			}
			found[above] += v.Int()
		}
		return true
	})
	return found
}

func (w *world) check(t *testing.T, seed uint64, p *profile.Profile) bool {
	t.Helper()
	ok := true
	got := scopes(p)
	for scope := range got {
		if got[scope] != w.want[scope] {
			t.Errorf("seed %d (%s): below %q there are %d ns, want %d", seed, w, scope, got[scope], w.want[scope])
			ok = false
		}
	}
	for scope := range w.want {
		if _, found := got[scope]; !found {
			t.Errorf("seed %d (%s): there is nothing below %q, want %d", seed, w, scope, w.want[scope])
			ok = false
		}
	}
	var busy, want []int64
	for _, d := range idle.Find(p.Timeline, 0).Devices {
		busy = append(busy, d.Busy)
	}
	for _, spans := range w.busy {
		want = append(want, union(spans))
	}
	slices.Sort(busy)
	slices.Sort(want)
	mixed := w.lost && w.ranks > 1 && w.sameDevice && w.pids == "numbers" && w.gpus == "devices" // whose the lost work is, nothing says
	if !slices.Equal(busy, want) && !mixed {
		t.Errorf("seed %d (%s): GPUs are busy for %d ns, want %d", seed, w, busy, want)
		ok = false
	}
	return ok
}

func (w *world) checkUnclear(t *testing.T, seed uint64, p *profile.Profile) {
	t.Helper()
	misplaced := w.want[""]
	for scope, time := range scopes(p) {
		if scope != "" && time > w.want[scope] {
			t.Errorf("seed %d (%s): below %q there are %d ns, want at most %d", seed, w, scope, time, w.want[scope])
		}
		if scope == "" {
			misplaced = time - misplaced
		}
	}
	note := p.Info[profile.InfoNote]
	share := fmt.Sprintf("%.1f%% of the GPU time has correlation ids that several processes use, and nothing says whose it is", 100*float64(misplaced)/float64(w.all))
	if misplaced > 0 && !strings.Contains(note, share) {
		t.Errorf("seed %d (%s): %d of %d ns are not below their scope, and the note is %q", seed, w, misplaced, w.all, note)
	}
}

// union is how long any of some intervals lasts.
func union(spans []span) (total int64) {
	points := map[int64]int{}
	for _, s := range spans {
		points[s.from]++
		points[s.to]--
	}
	var times []int64
	for at := range points {
		times = append(times, at)
	}
	slices.Sort(times)
	open := 0
	for i, at := range times {
		if open > 0 {
			total += at - times[i-1]
		}
		open += points[at]
	}
	return total
}
