package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ianlancetaylor/demangle"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profiler"
)

// hangs is what `proton run --watch-hang` says of the GPU of this process. Ranks whose profiles have names that differ in the rank write
// rankState files next to them while one of them hangs, and so learn which of them have not arrived at a collective.
type hangs struct {
	s      *Service
	hung   bool
	spoken bool // of who has not arrived
	seen   int  // looks since the GPU hung

	mu   sync.Mutex
	said []string // for the closing lines of the run
	path string   // of this rank's file; "" while there is none
	over bool     // the session ends: no file is written any more
}

// HangWatched reports whether `proton run` has this process watched for a hang.
func HangWatched() bool {
	var c runinfo.Config
	return json.Unmarshal([]byte(settings.RunConfig.Get(os.Getenv)), &c) == nil && c.WatchHang > 0
}

func (s *Service) watchHang(seconds float64) {
	s.run.hang = &hangs{s: s}
	s.Manager.WatchHang(time.Duration(seconds*float64(time.Second)), s.run.hang.look)
}

func (h *hangs) sentences() []string {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.said)
}

// mostHangs of a run are kept for its closing lines. All are said when they are seen.
const mostHangs = 20

func (h *hangs) say(sentence string) {
	h.s.Say(sentence)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.said) < mostHangs {
		h.said = append(h.said, sentence)
	}
}

// look is called every few seconds, or more often, from the drainer's rounds.
func (h *hangs) look(now profiler.Hang) {
	switch {
	case now.Hung && !h.hung:
		h.hung, h.spoken, h.seen = true, false, 0
		h.begins(now)
	case h.hung && !now.Hung:
		h.hung = false
		h.s.Say("the GPU goes on, or the program launches again")
	}
	others := h.others()
	if !h.hung && len(others) == 0 {
		h.remove()
		return
	}
	own := h.state(now)
	h.write(own)
	if h.seen++; h.hung && !h.spoken && h.seen > 2 { // the others have had time to write
		h.spoken = true
		if all := append(others, own); h.speaks(all) {
			if sentence := whoIsMissing(all); sentence != "" {
				h.say(sentence)
			}
		}
	}
}

func (h *hangs) begins(now profiler.Hang) {
	s := h.s
	s.runCheckpoint()
	work := now.Work()
	who := fmt.Sprintf("process %d", os.Getpid())
	if p := s.run.process(); p.Ranked() {
		who = fmt.Sprintf("rank %d, process %d", p.Rank, p.PID)
	}
	kept := "the profile so far is not written"
	if files := s.run.written(); len(files) > 0 {
		kept = "the profile so far is in " + files[0]
	}
	h.say(fmt.Sprintf("%s: no kernel has ended, and none was launched, for %s, while the GPU has work: %s; %s, and the program goes on", who, figures.Time(now.Silent.Nanoseconds()), runningNow(work), kept))
}

// runningNow says what each stream works at.
func runningNow(work profiler.GPUWork) string {
	const most = 4
	var parts []string
	for i, r := range work.Running {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more streams", len(work.Running)-most))
			break
		}
		parts = append(parts, describeRunning(r))
	}
	if work.Queued > 0 {
		parts = append(parts, figures.Plural(work.Queued, "launch waits", "launches wait")+" behind")
	}
	if len(parts) == 0 {
		return "it is not known which, as their launches were not seen"
	}
	return strings.Join(parts, "; ")
}

func describeRunning(r profiler.Running) string {
	text := cmp.Or(demangle.Filter(r.Kernel, demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(8)), "a kernel that has not run before")
	if r.Graph {
		text = "a graph"
	}
	if r.Stream != 0 {
		text += fmt.Sprintf(" on stream %d", r.Stream)
	}
	if len(r.Path) > 0 {
		var frames []string
		for _, frame := range r.Path[max(0, len(r.Path)-4):] {
			if file, function, python := strings.Cut(frame, "@"); python {
				frame = filepath.Base(file) + "@" + function
			}
			frames = append(frames, frame)
		}
		text += ", launched in " + strings.Join(frames, " > ")
	}
	if r.Line != "" {
		text += ", samples at " + r.Line
	}
	return text
}

var collective = regexp.MustCompile(`[nr]ccl\w*?(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|AllToAll\w*|SendRecv)`)

// collectiveOf is the operation of a kernel of NCCL or RCCL, "" if it is of neither.
func collectiveOf(kernel string) string {
	if found := collective.FindStringSubmatch(kernel); found != nil {
		return found[1]
	}
	return ""
}

// ---- ranks ----

// rankState is what a rank writes while one of the job hangs.
type rankState struct {
	Rank        int               `json:"rank"`
	World       int               `json:"world"`
	PID         int               `json:"pid"`
	Host        string            `json:"host"`
	Hung        bool              `json:"hung"`
	Silent      float64           `json:"silent_seconds"`
	Running     []string          `json:"running"`          // what its streams work at, as sentences
	Collective  string            `json:"collective"`       // that one of them works at
	Collectives map[string]uint64 `json:"collectives"`      // how often each was launched
	Last        string            `json:"last"`             // its last launch
	LastAgo     float64           `json:"last_seconds_ago"` // when that was
}

const hangSuffix = ".hang.json"

var rankPart = regexp.MustCompile(`\.rank[0-9]+`)

// others are the states of other ranks that were written lately.
func (h *hangs) others() (list []rankState) {
	stem := h.s.Manager.Name(h.s.run.session)
	at := rankPart.FindStringIndex(filepath.Base(stem))
	if at == nil || !h.s.run.process().Ranked() {
		return nil
	}
	prefix := filepath.Base(stem)[:at[0]] + ".rank"
	files, _ := os.ReadDir(filepath.Dir(stem)) //nolint:errcheck // none
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), prefix) || !strings.HasSuffix(file.Name(), hangSuffix) {
			continue
		}
		if info, err := file.Info(); err != nil || time.Since(info.ModTime()) > fresh {
			continue
		}
		var one rankState
		text, err := ownfile.ReadFile(filepath.Join(filepath.Dir(stem), file.Name()))
		if err == nil && json.Unmarshal(text, &one) == nil && one.Rank != h.s.run.process().Rank && (one.Hung || h.hung) {
			list = append(list, one)
		}
	}
	return list
}

// fresh is how old a state may be that a rank has written: each look writes it again.
const fresh = 10 * time.Second

func (h *hangs) state(now profiler.Hang) rankState {
	work, p := now.Work(), h.s.run.process()
	r := rankState{Rank: p.Rank, World: p.World, PID: p.PID, Host: p.Host, Hung: h.hung, Silent: now.Silent.Seconds(), Collectives: map[string]uint64{}, Running: []string{}}
	for kernel, n := range work.Counts {
		if c := collectiveOf(kernel); c != "" {
			r.Collectives[c] += n
		}
	}
	for _, running := range work.Running {
		r.Running = append(r.Running, describeRunning(running))
		r.Collective = cmp.Or(r.Collective, collectiveOf(running.Kernel))
	}
	if !work.Last.Seen.IsZero() {
		r.Last, r.LastAgo = describeRunning(work.Last), time.Since(work.Last.Seen).Seconds()
	}
	return r
}

func (h *hangs) write(r rankState) {
	stem := h.s.Manager.Name(h.s.run.session)
	if stem == "" || stem == "-" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	path := stem + hangSuffix
	err := ownfile.Replace(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(r) })
	if err == nil {
		h.path = path
	}
}

func (h *hangs) remove() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.path != "" {
		os.Remove(h.path)
		h.path = ""
	}
}

// ends is called at the end of the session, when the GPU has ended its work. The file of a rank that hangs until it is killed stays.
func (h *hangs) ends() {
	if h != nil {
		h.remove()
		h.mu.Lock()
		h.over = true
		h.mu.Unlock()
	}
}

// speaks reports whether this rank is the first of those that hang, which speaks for all.
func (h *hangs) speaks(all []rankState) bool {
	own := h.s.run.process().Rank
	return own >= 0 && !slices.ContainsFunc(all, func(r rankState) bool { return r.Hung && r.Rank < own })
}

// whoIsMissing says which ranks have not arrived at the collective that most ranks wait in, "" if they wait in none. A rank that has launched
// it has arrived, whether or not it has waited for long enough to hang.
func whoIsMissing(all []rankState) string {
	waiting := map[string]int{}
	most, world := "", 0
	for _, r := range all {
		world = max(world, r.World)
		if waiting[r.Collective]++; r.Collective != "" && (most == "" || waiting[r.Collective] > waiting[most]) {
			most = r.Collective
		}
	}
	if most == "" || world < 2 {
		return ""
	}
	var count uint64
	known := map[int]rankState{}
	for _, r := range all {
		if known[r.Rank] = r; r.Collective == most {
			count = max(count, r.Collectives[most])
		}
	}
	var arrived, missing, silent []string
	for rank := range world {
		switch r, some := known[rank]; {
		case !some:
			silent = append(silent, fmt.Sprint(rank))
		case r.Collective == most && r.Collectives[most] == count:
			arrived = append(arrived, fmt.Sprint(rank))
		default:
			missing = append(missing, fmt.Sprintf("rank %d (process %d on %s) has not arrived: it has launched %d, and last, %s ago, %s",
				rank, r.PID, r.Host, r.Collectives[most], figures.Time(int64(r.LastAgo*1e9)), cmp.Or(r.Last, "nothing")))
		}
	}
	text := fmt.Sprintf("%s number %d: of %d ranks %s in it", most, count, world, figures.Plural(len(arrived), "waits", "wait"))
	text += " (" + someRanks(arrived) + ")"
	if len(missing) > 0 {
		text += "; " + strings.Join(missing, "; ")
	}
	if len(silent) > 0 {
		text += "; no word from " + someRanks(silent) + ": ended, or not watched, or in another folder"
	}
	if len(missing)+len(silent) == 0 {
		text += "; all have arrived"
	}
	return text
}

func someRanks(ranks []string) string {
	if len(ranks) == 1 {
		return "rank " + ranks[0]
	}
	return "ranks " + figures.First(ranks, 16)
}
