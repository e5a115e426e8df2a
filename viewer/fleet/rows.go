package fleet

import (
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/export/parquet"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
)

// RowsSchema names the columns of Rows, in the facts of the file. Columns are only added.
const RowsSchema = "goproton.rows/1"

// Rows writes what profiles have as rows of a Parquet file, one for each call path with values of its own.
type Rows struct {
	query Query
	out   *parquet.Writer
}

// Columns of a row.
const (
	columnFile = iota
	columnStart
	columnEnd
	columnJob
	columnService
	columnHost
	columnRank
	columnPID
	columnGPU
	columnLabels
	columnPath
	columnFrame
	columnTime
	columnLaunches
	columnSamples
	columnBytes
	columnFlops
	columnMetrics
)

var columns = []parquet.Column{
	columnFile:     {Name: "file", Kind: parquet.Text},
	columnStart:    {Name: "window_start", Kind: parquet.Time},
	columnEnd:      {Name: "window_end", Kind: parquet.Time},
	columnJob:      {Name: "job", Kind: parquet.Text},
	columnService:  {Name: "service", Kind: parquet.Text},
	columnHost:     {Name: "host", Kind: parquet.Text},
	columnRank:     {Name: "rank", Kind: parquet.Int},
	columnPID:      {Name: "pid", Kind: parquet.Int},
	columnGPU:      {Name: "gpu", Kind: parquet.Text},
	columnLabels:   {Name: "labels", Kind: parquet.Text, Shape: parquet.Map},
	columnPath:     {Name: "path", Kind: parquet.Text, Shape: parquet.List},
	columnFrame:    {Name: "frame", Kind: parquet.Text},
	columnTime:     {Name: "time_ns", Kind: parquet.Int},
	columnLaunches: {Name: "launches", Kind: parquet.Int},
	columnSamples:  {Name: "instruction_samples", Kind: parquet.Int},
	columnBytes:    {Name: "bytes", Kind: parquet.Int},
	columnFlops:    {Name: "flops", Kind: parquet.Int},
	columnMetrics:  {Name: "metrics", Kind: parquet.Float, Shape: parquet.Map},
}

// columnOf is the column of a metric. Those without one are in the map of columnMetrics, by their names.
var columnOf = map[string]int{
	profile.TimeMetric: columnTime, profile.CountMetric: columnLaunches, profile.SamplesMetric: columnSamples, profile.BytesMetric: columnBytes, "flops": columnFlops,
}

// NewRows begins a file for the profiles of a query.
func NewRows(out io.Writer, q Query) *Rows {
	return &Rows{q, parquet.NewWriter(out, columns, [2]string{"goproton.schema", RowsSchema})}
}

// Close completes the file, and returns the first error of writing it. It does not close what it was written to.
func (r *Rows) Close() error { return r.out.Close() }

// Add writes the rows of a profile, of a rank on a host.
func (r *Rows) Add(file string, p *profile.Profile, rank, host string) {
	about := factsOf(file, p.Info, rank, host)
	var path []string
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if r.query.leavesOut(n, depth) {
			return false
		}
		if depth > 0 {
			path = append(path[:depth-1], n.Name)
		}
		if r.query.onGPU(n) && r.values(n, p.Kinds, depth) {
			r.end(about, n, path[:depth])
		}
		return true
	})
}

// values sets the columns of a node's metrics, and reports whether there are any. Texts, lists and properties do not add up, and
// have no column. The root of a file has zeros that say what adds up.
func (r *Rows) values(n *profile.Node, kinds profile.Kinds, depth int) (some bool) {
	var amounts [columnMetrics - columnTime]int64
	for i := range n.Metrics {
		m := &n.Metrics[i]
		number, is := m.Value.Float()
		if !is || math.IsNaN(number) || kinds[m.Name] == profile.Property || depth == 0 && number == 0 {
			continue
		}
		some = true
		column, known := columnOf[m.Name]
		whole, exact := wholeOf(m.Value)
		if known && exact {
			amounts[column-columnTime] = whole
			continue
		}
		r.out.Amount(columnMetrics, m.Name, number)
	}
	for i, amount := range amounts {
		if some { // 0 where there is none: readers like pandas make fractions of numbers that are missing
			r.out.Int(columnTime+i, amount)
		}
	}
	return some
}

// wholeOf is a value as an integer, if it is one.
func wholeOf(v profile.Value) (whole int64, exact bool) {
	if v.Type() == profile.Int {
		return v.Int(), true
	}
	f, _ := v.Float()
	return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<63
}

// end completes a row with what it is about.
func (r *Rows) end(about *facts, n *profile.Node, path []string) {
	for column, text := range about.texts {
		if text != "" {
			r.out.Text(column, text)
		}
	}
	for column, number := range about.numbers {
		r.out.Int(column, number)
	}
	for _, label := range about.labels {
		r.out.Pair(columnLabels, label[0], label[1])
	}
	if v, has := n.Metric(profile.DeviceIDMetric); has && v.Type() == profile.String {
		r.out.Text(columnGPU, v.Str())
	}
	if len(path) > 0 {
		r.out.Texts(columnPath, path)
		r.out.Text(columnFrame, path[len(path)-1])
	}
	r.out.EndRow()
}

// facts are what all rows of a profile have in common, by column.
type facts struct {
	texts   map[int]string
	numbers map[int]int64
	labels  [][2]string // names, sorted, and values
}

func factsOf(file string, info profile.Info, rank, host string) *facts {
	f := &facts{numbers: map[int]int64{}, texts: map[int]string{
		columnFile: file, columnJob: Label(info, runinfo.LabelJob), columnService: Label(info, runinfo.LabelService), columnHost: host,
	}}
	for column, text := range map[int]string{columnStart: info[profile.InfoStart], columnEnd: info[profile.InfoWindowEnd], columnPID: info[profile.InfoPID], columnRank: rank} {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.numbers[column] = n
		}
	}
	for _, key := range slices.Sorted(maps.Keys(info)) {
		if name, is := strings.CutPrefix(key, runinfo.InfoLabel); is {
			f.labels = append(f.labels, [2]string{name, info[key]})
		}
	}
	return f
}
