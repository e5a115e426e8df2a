package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// amounts is what a profile has of the metrics with a column and of one without, by call path: what its rows must have.
func amounts(t *testing.T, file string) map[string]float64 {
	t.Helper()
	p, err := formats.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	var walk func(n *profile.Node, path string)
	walk = func(n *profile.Node, path string) {
		for _, m := range n.Metrics {
			if v, is := m.Value.Float(); is && v != 0 && p.Kinds[m.Name] != profile.Property {
				sums[path+" "+m.Name] += v
			}
		}
		for _, c := range n.Children {
			walk(c, path+"/"+c.Name)
		}
	}
	walk(p.Root, "")
	return sums
}

// metricOf are the metrics of the columns with amounts.
var metricOf = map[string]string{"time_ns": "time (ns)", "launches": "count", "instruction_samples": profile.SamplesMetric, "bytes": "bytes", "flops": "flops"}

// rowAmounts is the same of a row.
func rowAmounts(t *testing.T, r exporttest.ParquetRow, sums map[string]float64) {
	t.Helper()
	path := ""
	for _, name := range r["path.list.element"] {
		if name != nil {
			path += "/" + name.(string)
		}
	}
	for column, metric := range metricOf {
		v, err := strconv.ParseInt(r[column][0].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if v != 0 {
			sums[path+" "+metric] += float64(v)
		}
	}
	for i, metric := range r["metrics.key_value.key"] {
		if metric != nil {
			if v := r["metrics.key_value.value"][i].(float64); v != 0 {
				sums[path+" "+metric.(string)] += v
			}
		}
	}
}

// recorded are profiles of real GPUs.
func recorded(t *testing.T) string { return filepath.Join(testkit.Root(t), "viewer/testdata/recorded") }

// The rows of profiles of real GPUs have what the profiles have, call path by call path and metric by metric.
func TestRowsAddUpToTheProfiles(t *testing.T) {
	out := filepath.Join(t.TempDir(), "rows.parquet")
	report, said, err := asked(t, "--parquet", out, recorded(t))
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	file, rows := exporttest.ReadParquet(t, out)
	testkit.Golden(t, "testdata/rows.schema", file.Schema+"\n")
	if file.Facts["goproton.schema"] != "goproton.rows/1" || file.Rows != len(rows) {
		t.Errorf("%d rows, %+v", len(rows), file)
	}
	got := map[string]map[string]float64{}
	for _, r := range rows {
		name := r["file"][0].(string)
		if got[name] == nil {
			got[name] = map[string]float64{}
		}
		rowAmounts(t, r, got[name])
	}
	if len(got) != report.Profiles {
		t.Errorf("rows of %d files, of %d profiles", len(got), report.Profiles)
	}
	for name, sums := range got {
		want := amounts(t, name)
		for at, v := range want {
			if math.Abs(sums[at]-v) > 1e-9*math.Abs(v) {
				t.Errorf("%s: %s is %g, want %g", filepath.Base(name), at, sums[at], v)
			}
			delete(sums, at)
		}
		if len(sums) > 0 {
			t.Errorf("%s has no %v", filepath.Base(name), sums)
		}
	}
}

// A row says whose it is.
func TestRowsSayWhose(t *testing.T) {
	folder := t.TempDir()
	begin := time.Unix(1795428000, 7)
	path := putWindow(t, folder, begin, 12, 100, "label:team=vision", "label:job=j1", "pid=4711")
	out := filepath.Join(t.TempDir(), "rows.parquet")
	if _, said, err := asked(t, "--parquet", out, folder); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	_, rows := exporttest.ReadParquet(t, out)
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	for column, want := range map[string]string{
		"file": path, "window_start": "1795428000000000007", "window_end": "1795428060000000007", "job": "j1", "service": "train", "host": "node1", "rank": "12",
		"pid": "4711", "gpu": "0", "frame": "kernel", "time_ns": "100", "launches": "0", "path.list.element": "step kernel",
		"labels.key_value.key": "job " + runinfo.LabelService + " team", "labels.key_value.value": "j1 train vision", "metrics.key_value.key": "<nil>",
	} {
		if got := strings.Trim(fmt.Sprint(rows[0][column]), "[]"); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
}

// A file is replaced with --force only, and none is left where nothing is asked for or no file can be read.
func TestRowsOfNothing(t *testing.T) {
	folder, out := t.TempDir(), filepath.Join(t.TempDir(), "rows.parquet")
	putWindow(t, folder, time.Now(), 0, 100)
	for _, args := range [][]string{{"--rank", "7", folder}, {filepath.Join(folder, "none.hatchet")}} {
		if _, _, err := asked(t, append(args, "--parquet", out)...); err == nil {
			t.Errorf("%v: no error", args)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v: there is a file", args)
		}
	}
	for i, args := range [][]string{nil, {"--force"}, nil} {
		if _, _, err := asked(t, append(args, "--parquet", out, folder)...); (err == nil) != (i < 2) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// DuckDB and pandas read the file, and find the sums of the profiles.
func TestRowsInDuckDBAndPandas(t *testing.T) {
	testkit.OnlyInCheck(t, "it needs DuckDB, pandas and pyarrow, 150 MB")
	out := filepath.Join(t.TempDir(), "rows.parquet")
	if _, said, err := asked(t, "--parquet", out, recorded(t)); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	files, err := filepath.Glob(recorded(t) + "/*")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, file := range files {
		if formats.ByPath(file) == nil {
			continue
		}
		for at, v := range amounts(t, file) {
			for column, metric := range metricOf {
				if strings.HasSuffix(at, " "+metric) {
					want[column] += v
				}
			}
		}
	}
	said := testkit.Python(t, "parquet", "cmd/proton/testdata/rows.py", []byte(strconv.Quote(out)))
	var got struct {
		DuckDB, Pandas, Types, Dtypes map[string]string
		Paths                         string
		Rows                          [2]int
	}
	if err := json.Unmarshal(said, &got); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for column, v := range want {
		whole := strconv.FormatFloat(v, 'f', 0, 64)
		if got.DuckDB[column] != whole || got.Pandas[column] != whole || got.Dtypes[column] != "int64" {
			t.Errorf("%s: DuckDB has %s, pandas %s as %s, the profiles %s", column, got.DuckDB[column], got.Pandas[column], got.Dtypes[column], whole)
		}
	}
	for column, kind := range map[string]string{"path": "VARCHAR[]", "labels": "MAP(VARCHAR, VARCHAR)", "metrics": "MAP(VARCHAR, DOUBLE)", "rank": "BIGINT", "time_ns": "BIGINT"} {
		if got.Types[column] != kind {
			t.Errorf("%s is %s in DuckDB, want %s", column, got.Types[column], kind)
		}
	}
	if !strings.HasPrefix(got.Types["window_start"], "TIMESTAMP") || got.Paths != "0" || got.Rows[0] != got.Rows[1] || got.Rows[0] == 0 || len(want) < 4 {
		t.Errorf("%+v of %v", got, want)
	}
}
