package prometheus

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/version"
)

// Family is a counter, or a gauge, with its values by labels.
type Family struct {
	Name   string // as Prometheus has it
	OTel   string // as OpenTelemetry has it: its rules for names make Name of OTel and Unit
	Unit   string // of UCUM
	Help   string
	Gauge  bool // may shrink
	Series []Series
}

// Series is one value.
type Series struct {
	Labels []Label // none of them empty
	Value  float64
}

// Label is a label of a series.
type Label struct{ Name, Value string }

func counter(name, otel, unit, help string) Family {
	return Family{Name: "goproton_" + name, OTel: "goproton." + otel, Unit: unit, Help: help}
}

func gauge(name, otel, unit, help string) Family {
	f := counter(name, otel, unit, help)
	f.Gauge = true
	return f
}

// ofRows are counters by GPU, scope and work. A value of 0 is left out where always is not set.
var ofRows = []struct {
	Family
	always bool
	value  func(counters.Row) float64
}{
	{counter("gpu_time_seconds_total", "gpu.time", "s", "Time that GPUs worked, of kernels, copies and fills."), true,
		func(r counters.Row) float64 { return float64(r.Nanos) / 1e9 }},
	{counter("launches_total", "launches", "{launch}", "Kernels, copies and fills that ended."), true,
		func(r counters.Row) float64 { return float64(r.Launches) }},
	{counter("bytes_total", "bytes", "By", "Bytes of copies, and those that the program says of its kernels."), false,
		func(r counters.Row) float64 { return float64(r.Bytes) }},
	{counter("flops_total", "flops", "{operation}", "Floating-point operations that the program says of its kernels."), false,
		func(r counters.Row) float64 { return r.Flops }},
	{counter("instruction_samples_total", "instruction_samples", "{sample}", "Samples of instructions."), false,
		func(r counters.Row) float64 { return float64(r.Samples) }},
}

// ofProcesses are counters by process.
var ofProcesses = []struct {
	Family
	value func(*counters.State) int64
}{
	{counter("records_dropped_total", "records.dropped", "{record}", "Records of launches and kernels that were lost."),
		func(s *counters.State) int64 { return s.Dropped }},
	{counter("kernels_unattributed_total", "kernels.unattributed", "{kernel}", "Kernels without a call path."),
		func(s *counters.State) int64 { return s.Unattributed }},
	{counter("instruction_samples_lost_total", "instruction_samples.lost", "{sample}", "Samples of instructions that GPUs lost."),
		func(s *counters.State) int64 { return s.LostSamples }},
}

// Collect returns the counters of all processes, as they are now.
func (c *Collector) Collect() []Family {
	totals := c.totals()
	order := slices.SortedFunc(maps.Keys(totals), compare)
	info := gauge("info", "info", "", "1, with the version of GoProton.")
	info.Series = []Series{{[]Label{{"version", version.Number}}, 1}}
	families := []Family{info}
	for _, of := range ofRows {
		f := of.Family
		for _, who := range order {
			for _, r := range totals[who].rows.Sorted() {
				if v := of.value(r); v != 0 || of.always {
					f.Series = append(f.Series, Series{labels(who, Label{"gpu", r.GPU}, Label{"scope", r.Scope}, Label{"work", r.Work}), v})
				}
			}
		}
		families = append(families, f)
	}
	made := runinfo.PushStatus{}
	for _, who := range order {
		if p := totals[who].state.Push; p != nil {
			made.Add(*p)
		}
	}
	for _, of := range ofProcesses {
		f := of.Family
		for _, who := range order {
			f.Series = append(f.Series, Series{labels(who), float64(of.value(&totals[who].state))})
		}
		families = append(families, f)
	}
	families = append(families, overheads(totals, order)...)
	if c.Pushed != nil {
		families = append(families, ofSender(c.Pushed(), made)...)
	}
	return families
}

// overheads are what the profiler takes of the programs' time, and what it may take, of processes with a budget.
func overheads(totals map[process]*total, order []process) []Family {
	achieved := gauge("overhead_ratio", "overhead", "1", "Share of the program's time that the profiler takes, as measured in the process.")
	budget := gauge("overhead_budget_ratio", "overhead.budget", "1", "Share of the program's time that the profiler may take.")
	for _, who := range order {
		if o := totals[who].state.Overhead; o != nil {
			achieved.Series = append(achieved.Series, Series{labels(who), o.Achieved})
			budget.Series = append(budget.Series, Series{labels(who), o.Budget})
		}
	}
	return []Family{achieved, budget}
}

// ofSender are the counters of the windows of a run: what its processes have made of them, and what the sender has.
func ofSender(p Pushed, made runinfo.PushStatus) []Family {
	windows := counter("push_windows_total", "push.windows", "{window}", "Windows by what became of them: written and dropped by processes, then sent, refused, unreadable or evicted.")
	for _, of := range []struct {
		result string
		n      int64
	}{{"written", made.Windows}, {"dropped", made.Dropped}, {"sent", p.Sent}, {"refused", p.Refused}, {"unreadable", p.Unreadable}, {"evicted", p.Evicted + made.Evicted}} {
		windows.Series = append(windows.Series, Series{[]Label{{"result", of.result}}, float64(of.n)})
	}
	one := func(f Family, n int64) Family {
		f.Series = []Series{{nil, float64(n)}}
		return f
	}
	return []Family{
		windows,
		one(gauge("push_windows_waiting", "push.windows.waiting", "{window}", "Windows that wait until the server takes them."), p.Waiting),
		one(gauge("push_waiting_bytes", "push.waiting", "By", "Bytes of these windows."), p.WaitingBytes),
		one(counter("push_sent_bytes_total", "push.sent", "By", "Bytes of requests that the server has taken."), p.Bytes),
		one(counter("push_retries_total", "push.retries", "{request}", "Requests that were or will be repeated."), p.Retries),
	}
}

// labels are those of a process and more, without those that are empty.
func labels(who process, more ...Label) (list []Label) {
	for _, l := range append([]Label{{"job", who.job}, {"host", who.host}, {"rank", who.rank}, {"process", who.number}, {"replay", who.replay}}, more...) {
		if l.Value != "" {
			list = append(list, l)
		}
	}
	return list
}

// contentType is that of Text: the format that every version of Prometheus reads.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

var (
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// Text is the page for Prometheus. The format is three kinds of lines, so no library writes them. Families without series are there, too:
// a reader sees that there is nothing.
func Text(families []Family) (page []byte) {
	for _, f := range families {
		kind := "counter"
		if f.Gauge {
			kind = "gauge"
		}
		page = append(page, "# HELP "+f.Name+" "+escapeHelp.Replace(f.Help)+"\n# TYPE "+f.Name+" "+kind+"\n"...)
		for _, s := range f.Series {
			page = append(page, f.Name...)
			for i, l := range s.Labels {
				page = append(page, "{,"[min(i, 1)])
				page = append(page, l.Name+`="`+escapeValue.Replace(l.Value)+`"`...)
			}
			if len(s.Labels) > 0 {
				page = append(page, '}')
			}
			page = append(strconv.AppendFloat(append(page, ' '), s.Value, 'f', -1, 64), '\n')
		}
	}
	return page
}
