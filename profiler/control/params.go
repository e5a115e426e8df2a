package control

import (
	"encoding/json"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/when"
	"github.com/goproton/goproton/profiler"
)

// method does a control call.
type method struct {
	call  func(s *Service, request []byte) (any, error)
	takes any // its parameters, empty
}

// with is a method whose JSON parameters are a P.
func with[P any](do func(*Service, P) (any, error)) method {
	var empty P
	return method{func(s *Service, request []byte) (any, error) {
		var p P
		if len(request) > 0 {
			if err := json.Unmarshal(request, &p); err != nil {
				return nil, unreadable{err}
			}
		}
		return do(s, p)
	}, empty}
}

// unreadable is why the parameters of a method cannot be read.
type unreadable struct{ error }

type named struct {
	Name string `json:"name"`
}

type asked struct {
	named
	runinfo.Session
}

// ofSession names a session, by its number; null is all sessions, or the first where one is meant.
type ofSession struct {
	ID *int `json:"session"`
}

func (p *ofSession) id() int {
	if p.ID == nil {
		return 0
	}
	return *p.ID
}

type deactivation struct {
	ofSession
	Flushing bool `json:"flushing"`
}

type finalization struct {
	ofSession
	OutputFormat string `json:"output_format"`
}

type ofPhase struct {
	ofSession
	Phase int `json:"phase"`
}

type clearing struct {
	ofPhase
	UpToPhase bool `json:"clear_up_to_phase"`
}

type action struct {
	ofSession
	Action when.Action `json:"action"`
}

// atNode is a place in the tree of call paths.
type atNode struct {
	Node   uint32 `json:"node"`
	PyNode uint32 `json:"pynode"`
}

type depthAt struct {
	ofSession
	atNode
}

type metricVector struct {
	atNode
	named
	Set    uint32     `json:"set"`
	Ints   []float64  `json:"ints"`
	Floats []*float64 `json:"floats"` // null is what JSON has for NaN and infinity
	Text   *string    `json:"text"`
}

type loadedCode struct {
	named
	Handle uint64 `json:"handle"`
	Image  []byte `json:"image"` // base64
}

type unloaded struct {
	Function uint64 `json:"function"`
}

type kindOfLaunch struct {
	Kind     string `json:"id"`
	Kernel   string `json:"kernel"`
	Hash     string `json:"hash"`
	Function uint64 `json:"function"`
}

type stepped struct {
	Optimizer bool `json:"optimizer"`
}

type position struct {
	Rank  int `json:"rank"`
	World int `json:"world"`
}

type begun struct {
	SitePackages []string `json:"site_packages"`
}

type attached struct {
	begun
	Config string `json:"config"` // path of a runinfo.Config
}

// budgetStatus says what became of a budget; nil without one.
func budgetStatus(b *profiler.Spending) *runinfo.Budget {
	if b == nil {
		return nil
	}
	wall := float64(max(b.Wall, 1))
	out := &runinfo.Budget{
		Share: b.Budget, Achieved: b.Share(), Nanos: int64(b.Wall),
		Callbacks: b.Callbacks / wall, Hooks: b.Hooks / wall, Paths: b.Paths / wall, Switching: b.Switching / wall, Sampling: b.Sampling / wall,
		Compared: b.Compared || b.Timing.Known, SetupNanos: int64(b.Waited), Drainer: float64(b.Drainer) / wall, Sampler: float64(b.Sampler) / wall,
		PathsTaken: int64(b.PathsTaken), PathsLeft: int64(b.PathsLeft), SampledShare: float64(b.Sampled) / wall,
		KernelsOn: int64(b.KernelsSampled), KernelsOff: int64(b.KernelsOther), Summary: b.String(),
	}
	if b.All > 0 {
		out.Timed, out.Windows = float64(b.Timed)/float64(b.All), b.Windows
		out.Pace, out.Error = b.Timing.Share, b.Timing.Error*out.Timed
	}
	return out
}
