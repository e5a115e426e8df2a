// Command testlib is a libproton.so without sessions: the extension module on the real hot path, and control
// calls with which a Python test begins a session, launches kernels that do not exist, and reads what was recorded.
package main

import "C"

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/goproton/goproton/hooks"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/scratch"
)

func main() {}

func init() {
	if err := hotpath.Init(); err != nil {
		panic(err)
	}
	scratch.Init(hotpath.API())
	hooks.Init(holdable(hotpath.API()), scratch.API())
	hooks.Control = control
}

type request struct {
	Shadow, Python bool
	Timeline       bool
	Fresh          bool
	Func           uint64
	Kind, Text     string
	Node           uint32
}

func control(method string, params []byte) []byte {
	if strings.HasPrefix(method, "trace.") {
		ask(method)
		return []byte("9") // the number of any definition
	}
	var r request
	if err := json.Unmarshal(params, &r); err != nil {
		return hooks.ErrorJSON("ValueError", err.Error())
	}
	switch method {
	case "start":
		hotpath.TakeSlots(func([]hotpath.Slot) {})
		hotpath.SessionBegins(r.Fresh)
		hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 1, Shadow: r.Shadow, Python: r.Python, Timeline: r.Timeline})
	case "finalize":
		hotpath.SetActive(hotpath.Listeners{})
	case "launch":
		launch(r.Func)
	case "hold_walk":
		holdWalk()
	case "hold_call":
		holdCall()
	case "held":
		return reply(held())
	case "asked":
		askedMu.Lock()
		defer askedMu.Unlock()
		return reply(asked)
	case "path":
		return reply(path(r.Node))
	case "records":
		return reply(records())
	case "slots":
		return reply(slots())
	case "fail":
		return hooks.ErrorJSON(r.Kind, r.Text)
	case "panic":
		panic("on purpose")
	case "metric_vector":
		vectors = append(vectors, append(json.RawMessage(nil), params...))
	case "vectors":
		return reply(vectors)
	default:
		return hooks.ErrorJSON("NotImplementedError", "no control call "+method)
	}
	return []byte("{}")
}

// How often each trace call was made. Calls do not hold the GIL.
var (
	askedMu sync.Mutex
	asked   = map[string]int{}
)

func ask(method string) {
	askedMu.Lock()
	defer askedMu.Unlock()
	asked[method]++
}

var vectors = []json.RawMessage{}

func reply(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return hooks.ErrorJSON("RuntimeError", err.Error())
	}
	return b
}

// path is a call path's frames, root first.
func path(id uint32) []string {
	names := []string{}
	for nodes := hotpath.Nodes(); id != 0; id = nodes[id].Parent {
		names = append([]string{hotpath.Text(nodes[id].Name)}, names...)
	}
	return names
}

type launched struct {
	Shadow, Python []string
	Func           uint64
	Op             bool
	Type           uint8
	InOp           bool // of a metric for timelines: it belongs to an op's kernel
}

// records drains what was launched since the last call, oldest first for each thread.
func records() []launched {
	all := []launched{}
	hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
		for _, r := range records {
			all = append(all, launched{path(r.Node), path(r.PyNode), r.Word, r.Flags&hotpath.FlagOp != 0, r.Type, r.Type == hotpath.MetricAdded && r.Op != 0})
		}
	})
	return all
}

type slot struct {
	Path   []string
	Name   string
	Python bool
	Value  string
	Type   string
}

func slots() []slot {
	all := []slot{}
	var sums []hotpath.Slot
	hotpath.Slots(func(_ uint32, slots []hotpath.Slot) { sums = append(sums, slots...) })
	for _, s := range sums {
		v := slot{Path: path(s.Node), Name: hotpath.Text(s.Name), Python: s.Flags&hotpath.SlotPython != 0, Type: "int"}
		v.Value = fmt.Sprint(int64(s.Bits))
		if s.Type == hotpath.SlotDouble {
			v.Type, v.Value = "double", fmt.Sprint(double(s.Bits))
		}
		all = append(all, v)
	}
	return all
}
