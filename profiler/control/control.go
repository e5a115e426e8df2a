// Package control is the profiler as a service for other languages: method names and JSON in, JSON out.
// hooks calls it for Python; libproton's C entry points call it for everything else.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"

	"github.com/goproton/goproton/hotpath/scratch"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
	"github.com/goproton/goproton/profiler/aggregate"
)

// Service answers control calls.
type Service struct {
	Manager *profiler.Manager
	Say     func(string)         // one line for the program's standard error
	Listens func(descriptor int) // the process has a socket, which a forked child has to close
	run     *run
	pushed  pushes
	counted counted
	readers readers
	gaveUp  bool // waiting for the GPU library at exit
	failed  bool // to write a profile at exit
}

// New returns a service over a new manager.
func New() *Service {
	return &Service{Manager: profiler.NewManager(), Say: func(string) {}, Listens: func(int) {}}
}

// methods maps each control call to what does it. docs/lives/seams.md lists them with their parameters.
var methods = map[string]method{
	"start":            with((*Service).start),
	"check":            with((*Service).check),
	"activate":         with(func(s *Service, p ofSession) (any, error) { return nil, s.Manager.Activate(p.ID) }),
	"deactivate":       with(func(s *Service, p deactivation) (any, error) { return nil, s.Manager.Deactivate(p.ID, p.Flushing) }),
	"finalize":         with((*Service).finalize),
	"status":           with(func(s *Service, _ struct{}) (any, error) { return s.status(), nil }),
	"metric_vector":    with((*Service).metricVector),
	"data.get":         with(func(s *Service, p ofPhase) (any, error) { return s.Manager.Data(p.id(), p.Phase) }),
	"data.get_msgpack": with((*Service).dataGetMsgpack),
	"depth": with(func(s *Service, p depthAt) (any, error) {
		n, err := s.Manager.Depth(p.id(), p.Node, p.PyNode)
		return map[string]int{"depth": n}, err
	}),
	"data.advance_phase": with(func(s *Service, p ofSession) (any, error) {
		n, err := s.Manager.AdvancePhase(p.id())
		return map[string]int{"phase": n}, err
	}),
	"data.is_phase_complete": with(func(s *Service, p ofPhase) (any, error) {
		done, err := s.Manager.PhaseComplete(p.id(), p.Phase)
		return map[string]bool{"complete": done}, err
	}),
	"data.clear": with(func(s *Service, p clearing) (any, error) {
		return nil, s.Manager.ClearPhase(p.id(), p.Phase, p.UpToPhase)
	}),
	"code.loaded": with(func(s *Service, p loadedCode) (any, error) {
		s.Manager.CodeLoaded(p.Handle, p.Name, p.Image)
		return nil, nil
	}),
	"inside.kernel": with((*Service).insideKernel),
	"inside.launch": with((*Service).insideLaunch),
	"inside.copied": with(func(*Service, struct{}) (any, error) {
		return map[string]uint64{"bytes": scratch.CopiedBytes()}, nil
	}),
	"inside.forget": with(func(_ *Service, p unloaded) (any, error) { scratch.Forget(p.Function); return nil, nil }),
	"launch_kind":   with((*Service).launchKind),
	"trace_folder":  with(func(s *Service, p named) (any, error) { s.Manager.TraceFolder(p.Name); return nil, nil }),
	"exit.patience": with(func(*Service, struct{}) (any, error) {
		return map[string]float64{"seconds": Patience().Seconds()}, nil
	}),
	"step":           with(func(s *Service, p stepped) (any, error) { s.Manager.Step(p.Optimizer); return nil, nil }),
	"set_action":     with(func(s *Service, p action) (any, error) { return nil, s.Manager.SetAction(p.id(), p.Action) }),
	"rank":           with((*Service).rank),
	"run.begin":      with((*Service).runBegin),
	"run.end":        with((*Service).runEnd),
	"run.attach":     with((*Service).runAttach),
	"run.checkpoint": with(func(s *Service, _ struct{}) (any, error) { s.checkpointNow(); return nil, nil }),
}

// Call does one control call. It never panics and never fails without saying so in its answer.
func (s *Service) Call(method string, request []byte) (answer []byte) {
	defer func() {
		if r := recover(); r != nil {
			answer = errorJSON("RuntimeError", fmt.Sprintf("BUG: %s panicked: %v; please report this", method, r))
		}
	}()
	do, ok := methods[method]
	if !ok {
		return errorJSON("ValueError", "unknown control call "+method)
	}
	result, err := do.call(s, request)
	if bad := (unreadable{}); errors.As(err, &bad) {
		why := bad.Error()
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(bad.error, &kind) && kind.Field != "" { // its own words name types of Go
			why = fmt.Sprintf("%s cannot be a JSON %s", kind.Field[strings.LastIndexByte(kind.Field, '.')+1:], kind.Value)
		}
		return errorJSON("ValueError", fmt.Sprintf("read the arguments of %s: %s", method, why))
	}
	if err != nil {
		return errorJSON(pythonKind(err), err.Error())
	}
	if result == nil {
		return []byte("{}")
	}
	if raw, ok := result.([]byte); ok {
		return raw
	}
	out, err := json.Marshal(result)
	if err != nil {
		return errorJSON("RuntimeError", err.Error())
	}
	return out
}

func errorJSON(kind, text string) []byte {
	out, _ := json.Marshal(map[string]any{"error": map[string]string{"kind": kind, "text": text}})
	return out
}

// pythonKind names the Python exception that is raised for an error.
func pythonKind(err error) string {
	var argument *profiler.ArgumentError
	var session *profiler.SessionError
	var missing *profiler.NotImplementedError
	switch {
	case errors.As(err, &argument):
		return "ValueError"
	case errors.As(err, &session):
		return "IndexError"
	case errors.As(err, &missing):
		return "NotImplementedError"
	}
	return "RuntimeError"
}

func (s *Service) start(p asked) (any, error) {
	id, err := s.startSession(p.Name, p.Session)
	return map[string]any{"session": id, "problems": s.Manager.Problems()}, err
}

// check refuses what start would refuse, before anything is begun for the session: the spool and the folders are not known yet.
func (s *Service) check(p asked) (any, error) {
	if _, err := s.keepsReaders(p.Name, p.Session); err != nil {
		return nil, err
	}
	o, err := startOptions(p.Name, p.Session)
	if err != nil {
		return nil, err
	}
	if p.Push != nil {
		if err := checkLabels(p.Push); err != nil {
			return nil, err
		}
	}
	if p.Push != nil || p.Metrics != nil {
		o.Deltas = []*profiler.Deltas{{Every: countEvery}}
	}
	if p.Metrics != nil {
		if err := s.countsAnother(p.Name); err != nil {
			return nil, err
		}
	}
	return nil, s.Manager.Check(o)
}

// startSession starts a session that a control call or "proton run" asks for.
func (s *Service) startSession(name string, asked runinfo.Session) (int, error) {
	lives, err := s.keepsReaders(name, asked)
	if err != nil {
		return 0, err
	}
	o, err := startOptions(name, asked)
	if err != nil {
		return 0, err
	}
	if lives {
		return s.Manager.Start(o)
	}
	if o.Deltas, err = s.deltas(name, asked); err != nil {
		return 0, err
	}
	id, err := s.Manager.Start(o)
	if err == nil {
		s.began(id, asked)
	}
	return id, err
}

// startOptions are what a session is started with, without deltas.
func startOptions(name string, o runinfo.Session) (profiler.StartOptions, error) {
	whole, err := wholeGraphs(o.Graph)
	if err != nil {
		return profiler.StartOptions{}, err
	}
	share, err := runinfo.ParseBudget(o.Budget)
	if err != nil {
		return profiler.StartOptions{}, &profiler.ArgumentError{Text: err.Error()}
	}
	return profiler.StartOptions{
		Budget: share,
		Name:   name, Context: o.Context, Data: o.Data, Backend: o.Backend, Mode: o.Mode,
		Activities: o.Activities, NoStats: noStats(o.Stats), Idle: o.Idle, Energy: o.Energy, PM: o.PM, Format: o.Format, TraceForm: o.TraceForm, When: o.When,
		Source: profiler.SourceOptions{WholeGraphs: whole, SitePackages: o.SitePackages, Replay: o.Replay, Synthetic: o.Synthetic},
	}, nil
}

// deltas are the consumers of what a session records in intervals.
func (s *Service) deltas(name string, o runinfo.Session) (list []*profiler.Deltas, err error) {
	pushed, err := s.pushDeltas(o.Push)
	if err != nil {
		return nil, err
	}
	counts, err := s.countDeltas(name, o.Metrics)
	if err != nil {
		return nil, err
	}
	for _, d := range []*profiler.Deltas{pushed, counts} {
		if d != nil {
			list = append(list, d)
		}
	}
	return list, nil
}

// noStats decides on distributions of kernel times: what is asked for, else what PROTON_STATS says, else yes.
func noStats(asked *bool) bool {
	if asked != nil {
		return !*asked
	}
	return !settings.Stats.On(os.Getenv)
}

func wholeGraphs(graph string) (bool, error) {
	switch graph {
	case "", "node":
		return false, nil
	case "graph":
		return true, nil
	}
	return false, profiler.Unknown("graph level", graph, runinfo.GraphLevels)
}

func (s *Service) finalize(p finalization) (any, error) {
	before := s.Manager.Status()
	files, err := s.Manager.Finalize(p.ID, p.OutputFormat)
	s.writeCounters(false)
	if why := s.neverBegan(p.ID); why != "" {
		return map[string]any{"problems": []string{why}}, err
	}
	problems := s.Manager.Problems()
	if before.Waiting && before.Sessions > 0 && len(problems) == 0 {
		problems = append(problems, "no GPU work was recorded: the program did not initialise a GPU while the session ran; see `proton doctor`")
	}
	if w := before.Windows; w != nil && w.Opened == 0 && w.Why != "" {
		problems = append(problems, "nothing was recorded, since no recording window opened: "+w.Why)
	}
	return map[string]any{"files": files, "problems": problems}, err
}

// neverBegan says that there has been no such session, "" if there was. One that has ended may be finalized again.
func (s *Service) neverBegan(id *int) string {
	begun := s.Manager.Begun()
	if id == nil || *id >= 0 && *id < begun {
		return ""
	}
	last := "none was started"
	if begun > 0 {
		last = fmt.Sprintf("the last one that was started is %d", begun-1)
	}
	return fmt.Sprintf("there is no session %d to finalize: %s", *id, last)
}

// launchKind answers with the number that launches of a kind are tagged with.
func (*Service) launchKind(p kindOfLaunch) (any, error) {
	n := aggregate.RegisterLaunchKind(profile.LaunchKind{ID: p.Kind, Kernel: p.Kernel, Hash: p.Hash, Function: p.Function})
	return map[string]uint32{"tag": n &^ aggregate.RestOfLaunches}, nil
}

// metricVector adds what does not fit a slot of the hot path: a vector or a text.
func (s *Service) metricVector(p metricVector) (any, error) {
	if p.Text != nil {
		return nil, s.Manager.AddText(p.Node, p.PyNode, p.Set, p.Name, *p.Text)
	}
	if p.Ints != nil {
		return nil, s.Manager.AddVector(p.Node, p.PyNode, p.Set, p.Name, p.Ints, true)
	}
	values := make([]float64, len(p.Floats))
	for i, v := range p.Floats {
		values[i] = math.NaN()
		if v != nil {
			values[i] = *v
		}
	}
	return nil, s.Manager.AddVector(p.Node, p.PyNode, p.Set, p.Name, values, false)
}

// dataGetMsgpack answers with bytes, which JSON has in base64.
func (s *Service) dataGetMsgpack(p ofPhase) (any, error) {
	raw, err := s.Manager.DataMsgpack(p.id(), p.Phase)
	return map[string][]byte{"msgpack": raw}, err
}

const (
	mostGarbage  = 16 << 20 // bytes
	mostPercent  = 400      // garbage of what is alive
	leastPercent = 50
)

// CollectGarbage lets a small heap, of a few MB of trees, grow to five times what is alive before it is collected, and a larger one by 16 MiB:
// the memory of the program is not the profiler's. Above 32 MiB alive, half as much may be garbage. What is free is given
// back once in a minute.
func CollectGarbage() {
	now := mostPercent
	debug.SetGCPercent(now)
	giveBack := procstat.GiveBack()
	procstat.AfterCollection(func(live uint64) (again bool) {
		if want := garbagePercent(live); want > now+now/8 || want < now-now/8 { // a change stops the goroutines for a moment
			debug.SetGCPercent(want)
			now = want
		}
		giveBack()
		return true
	})
}

func garbagePercent(live uint64) int {
	return int(min(mostPercent, max(leastPercent, mostGarbage*100/max(live, 1))))
}
