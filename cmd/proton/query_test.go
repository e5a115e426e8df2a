package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/msgpack"
	"github.com/goproton/goproton/viewer/fleet"
)

// asked is the answer of proton query --json.
func asked(t *testing.T, args ...string) (report fleet.Report, said string, err error) {
	t.Helper()
	cmd := newQueryCommand()
	var out, messages strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SetArgs(append([]string{"--json", "--top", "1000"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err = cmd.Execute(); out.Len() > 0 {
		if wrong := json.Unmarshal([]byte(out.String()), &report); wrong != nil {
			t.Fatalf("%v: %s", wrong, out.String())
		}
	}
	return report, messages.String(), err
}

// paths are the times of a report by call path.
func paths(report fleet.Report) map[string]float64 {
	times := map[string]float64{}
	for _, f := range report.Frames {
		times[strings.Join(f.Path, "\n")] = f.Value
	}
	return times
}

// What a run pushes to a folder, and what it leaves in a spool for a server that is away, has the times of the local profile.
func TestQueryReadsPushedWindows(t *testing.T) {
	environment := testkit.Built(t)
	for to, folders := range map[string][2]string{"a folder": {"windows", "windows"}, "a spool": {"none", "spool"}} {
		t.Run(to, func(t *testing.T) {
			folder := t.TempDir()
			windows := filepath.Join(folder, "windows")
			if err := os.Mkdir(windows, 0o777); err != nil {
				t.Fatal(err)
			}
			cmd := replaying(t, environment, folder, "matmul.capture.gz", "--push", "file://"+filepath.Join(folder, folders[0]), "--push-wait", "1", "--push-label", "team=vision")
			cmd.Env = append(cmd.Env, "RANK=3", "WORLD_SIZE=4")
			succeeds(t, cmd)
			local, _, err := asked(t, folder+"/local.rank3.hatchet")
			if err != nil || len(local.Frames) == 0 {
				t.Fatalf("the local profile has %+v, %v", local, err)
			}
			pushed, said, err := asked(t, "--label", "team=vision", "--rank", "3", "--since", "1h", filepath.Join(folder, folders[1]))
			if err != nil || said != "" || pushed.Profiles != 1 || pushed.Ranks[0].Rank != "3" || pushed.Ranks[0].Host == "" {
				t.Fatalf("%+v, %v: %s", pushed, err, said)
			}
			got := paths(pushed)
			for path, v := range paths(local) {
				if got[path] != v {
					t.Errorf("%q: the windows have %g, the profile %g", path, got[path], v)
				}
				delete(got, path)
			}
			if len(got) > 0 {
				t.Errorf("the profile lacks %v", got)
			}
		})
	}
}

// putWindow writes a window of one kernel into a folder as a push does, and returns its path.
func putWindow(t *testing.T, folder string, begin time.Time, rank int, ns int64, facts ...string) string {
	t.Helper()
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "step", Children: []*profile.Node{{Name: "kernel"}}}}},
		Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive}, Info: profile.Info{
			profile.InfoHost: "node" + strconv.Itoa(rank/8), profile.InfoRank: strconv.Itoa(rank), profile.InfoStart: strconv.FormatInt(begin.UnixNano(), 10),
			profile.InfoWindowEnd: strconv.FormatInt(begin.Add(time.Minute).UnixNano(), 10), runinfo.InfoLabel + runinfo.LabelService: "train",
		}}
	for _, fact := range facts {
		name, value, _ := strings.Cut(fact, "=")
		p.Info[name] = value
	}
	kernel := p.Root.Children[0].Children[0]
	kernel.Set(profile.TimeMetric, profile.IntValue(ns))
	kernel.Set(profile.DeviceIDMetric, profile.StringValue("0"))
	name := push.FileName(strconv.FormatInt(begin.Add(time.Minute).UnixNano(), 10)+"-"+strconv.Itoa(1000+rank)+"-1", p.Info)
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	target, err := formats.TargetOf(path, nil)
	if err == nil {
		err = target.WriteFile(path, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Files whose names say that they are not asked for are not opened: here they cannot be read.
func TestQueryOpensWhatItNeeds(t *testing.T) {
	folder := t.TempDir()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for minute := -90; minute < 90; minute += 30 {
		for rank := range 3 {
			path := putWindow(t, folder, noon.Add(time.Duration(minute)*time.Minute), rank, 100)
			if minute != 30 || rank == 2 {
				if err := os.WriteFile(path, []byte("[{"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	report, said, err := asked(t, "--since", "2026-11-23T12:30:00Z", "--until", "2026-11-23T12:31:00Z", "--rank", "0-1", folder)
	if err != nil || said != "" || report.Profiles != 2 || report.Median != 100 {
		t.Errorf("%+v, %v: %s", report, err, said)
	}
	_, said, err = asked(t, folder)
	if err == nil || strings.Count(said, "; left out\n") != 16 || !strings.Contains(said, "left out 16 files of 18\n") {
		t.Errorf("%v: %s", err, said)
	}
}

// Labels are those of windows, and facts of profiles; gpu leaves out the work of other GPUs.
func TestQueryByLabel(t *testing.T) {
	folder := t.TempDir()
	begin := time.Now().Add(-time.Hour)
	putWindow(t, folder, begin, 0, 100, "label:team=vision", "label:job=j1")
	putWindow(t, folder, begin, 9, 200, "label:team=audio", "label:job=j1")
	putWindow(t, folder, begin, 10, 300, "job=j2", "label:"+runinfo.LabelService+"=serve")
	for _, c := range []struct {
		label    string
		profiles int
		median   float64
	}{
		{"team=vision", 1, 100}, {"job=j1", 2, 150}, {"job=j2", 1, 300}, {"host=node1", 2, 250}, {"service=serve", 1, 300}, {"service_name=train", 2, 150},
		{"gpu=0", 3, 200}, {"gpu=1", 3, 0}, {"team=none", 0, 0},
	} {
		report, said, err := asked(t, "--label", c.label, folder)
		if (err == nil) != (c.profiles > 0) || report.Profiles != c.profiles || report.Median != c.median {
			t.Errorf("%s: %+v, %v: %s", c.label, report, err, said)
		}
	}
}

// The windows of a rank that was restarted are added up, and a line says so; --attempt last takes those of the last attempt.
func TestQueryOfARestartedRank(t *testing.T) {
	folder := t.TempDir()
	begin := time.Now().Add(-time.Hour)
	for rank := range 4 {
		for minute := range 3 {
			at := begin.Add(time.Duration(20*minute) * time.Minute) // the program rests between windows
			made := profile.InfoEnd + "=" + strconv.FormatInt(at.Add(61*time.Second).UnixNano(), 10)
			putWindow(t, folder, at, rank, 100, "pid="+strconv.Itoa(rank), made)
			if rank == 1 && minute == 0 {
				putWindow(t, folder, at.Add(-time.Minute), rank, 200, "pid=9", made, profile.InfoRestart+"=0")
			}
			if rank == 2 && minute < 2 {
				putWindow(t, folder, at.Add(time.Minute), rank, 300, "pid=8", made, profile.InfoRestart+"=1")
			}
		}
	}
	const twice = "proton: rank 2 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone\n"
	uneven := "proton: rank 0 has 3 profiles and rank 2 5: totals of different times are compared\n"
	for _, c := range []struct {
		args  []string
		total float64 // of rank 2
		said  string
	}{
		{nil, 900, uneven + twice},
		{[]string{"--rank", "0,2"}, 900, uneven + twice},
		{[]string{"--attempt", "last"}, 600, "proton: rank 2 ran twice, attempts 0 and 1: attempt 1 alone counts\nproton: rank 2 has 2 profiles and rank 1 4: totals of different times are compared\n"},
	} {
		report, said, err := asked(t, append(c.args, folder)...)
		total := 0.0
		for _, r := range report.Ranks {
			if r.Rank == "2" {
				total = r.Total
			}
		}
		if err != nil || total != c.total || said != c.said {
			t.Errorf("%v: rank 2 has %g, %v; %s", c.args, total, err, said)
		}
	}
}

// --exclude leaves out frames, also of the rows; what is not a pattern is refused before anything is read.
func TestQueryExcludes(t *testing.T) {
	folder := t.TempDir()
	putWindow(t, folder, time.Now(), 0, 100)
	for pattern, want := range map[string]float64{"^kern": 0, "step": 0, "ROOT": 100, "nccl": 100} {
		rows := filepath.Join(t.TempDir(), "rows.parquet")
		report, said, err := asked(t, "--exclude", pattern, "--parquet", rows, folder)
		_, got := exporttest.ReadParquet(t, rows)
		nothing := ""
		if want == 0 {
			nothing = "proton: --exclude leaves no frame with time (ns)\n"
		}
		if err != nil || said != nothing || report.Ranks[0].Total != want || len(got) != int(want)/100 {
			t.Errorf("%s: %+v and %d rows, %v; %s", pattern, report.Ranks[0], len(got), err, said)
		}
	}
	for _, wrong := range [][]string{{"--exclude", "("}, {"--attempt", "first"}} {
		if _, _, err := asked(t, append(wrong, folder)...); err == nil || !strings.Contains(err.Error(), "read "+wrong[0]) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// A sender claims windows of a spool, and deletes them, while they are read.
func TestQueryOfASpoolThatIsSent(t *testing.T) {
	folder := t.TempDir()
	w := spool.NewWriter(folder, spool.ProcessLimit)
	for rank := range 3 {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Info: profile.Info{profile.InfoRank: strconv.Itoa(rank)}}
		p.Root.Set(profile.TimeMetric, profile.IntValue(5))
		if err := w.Put(time.Now(), func(out io.Writer) error { return msgpack.Write(out, p) }); err != nil {
			t.Fatal(err)
		}
	}
	list, err := spool.List(folder)
	if err != nil || len(list) != 3 || !list[0].Claim() {
		t.Fatalf("%v, %v", list, err)
	}
	if report, said, err := asked(t, folder); err != nil || report.Profiles != 3 || said != "" {
		t.Errorf("with a claimed window: %+v, %v: %s", report, err, said)
	}
	if p, err := readWindow(strings.TrimSuffix(list[0].Path, ".sending"), fromFlag{}); err != nil || p.Info[profile.InfoRank] != "0" {
		t.Errorf("a window that was claimed after it was listed: %v, %v", p, err)
	}
	gone := list[1].Path
	if err := list[1].Remove(); err != nil {
		t.Fatal(err)
	}
	if report, said, err := asked(t, folder, gone); err != nil || report.Profiles != 2 || !strings.Contains(said, "1 window was sent while the spool was read") {
		t.Errorf("without a window that was listed: %+v, %v: %s", report, err, said)
	}
}

// A metric that was not recorded is an error, not 0.
func TestQueryOfAnUnknownMetric(t *testing.T) {
	folder := t.TempDir()
	putWindow(t, folder, time.Now(), 0, 100)
	for _, metric := range []string{"nonsense", "util", "time/ms", "avg_time"} {
		report, _, err := asked(t, "-m", metric, folder)
		if err == nil || !strings.Contains(err.Error(), "there is no amount "+metric+" in these profiles: recorded are time (ns)") || report.Profiles != 0 {
			t.Errorf("%s: %+v, %v", metric, report, err)
		}
	}
	if report, said, err := asked(t, "-m", "Time", folder); err != nil || said != "" || report.Median != 100 || report.Metric != profile.TimeMetric {
		t.Errorf("Time: %+v, %v: %s", report, err, said)
	}
}
