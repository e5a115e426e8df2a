package push

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// filesBelow are the files below a folder, by path.
func filesBelow(t *testing.T, folder string) (list []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// totalsOf adds up the windows of files as servers do.
func totalsOf(t *testing.T, folder string, files []string) map[string]int64 {
	t.Helper()
	totals := map[string]int64{}
	for _, file := range files {
		p, err := formats.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range series(t, "x", p) {
			at := slices.IndexFunc(s.Labels, func(l Label) bool { return l.Name == "gpu" })
			gpu := ""
			if at >= 0 {
				gpu = s.Labels[at].Value
			}
			exporttest.Add(totals, gpu, s.Profile)
		}
	}
	return totals
}

// Windows that are pushed to a folder are there with all their work, under names that say when, where and whose they are; and again
// with the same names if they are sent twice.
func TestWindowsOfAFolder(t *testing.T) {
	to, spoolFolder := t.TempDir(), filepath.Join(t.TempDir(), "spool")
	begin := time.Date(2026, 11, 23, 10, 59, 30, 5, time.UTC)
	r := rand.New(rand.NewPCG(5, 6))
	windows := []*profile.Profile{window(r, 11, begin.Add(time.Minute)), window(r, 4, begin.Add(2*time.Minute))}
	want := put(t, spoolFolder, windows...)
	status := finish(t, "file://"+to, spoolFolder, testkit.Patience())
	if status.Sent != 2 || status.Waiting != 0 || status.Bytes == 0 || status.Target != "file://"+to {
		t.Errorf("status %+v", status)
	}
	files := filesBelow(t, to)
	sameTotals(t, totalsOf(t, to, files), want)
	for i, hour := range []string{"2026-11-23T10", "2026-11-23T11"} {
		folder, base := filepath.Split(files[i])
		if folder != hour+"/node7/" {
			t.Errorf("window %d is in %s", i, folder)
		}
		facts, ok := ReadFileName(base)
		if start := begin.Add(time.Duration(i) * time.Minute); !ok || facts.Rank != "3" || !facts.Begin.Equal(start) || !facts.End.Equal(start.Add(time.Minute)) {
			t.Errorf("%s says %+v, %v", base, facts, ok)
		}
		if got, ok := ReadHour(hour); !ok || !got.Equal(begin.Add(time.Duration(i)*time.Hour).Truncate(time.Hour)) {
			t.Errorf("%s is %v, %v", hour, got, ok)
		}
	}
	if put(t, spoolFolder, windows...); finish(t, "file://"+to, spoolFolder, testkit.Patience()).Sent != 2 {
		t.Error("the windows were not sent again")
	}
	if again := filesBelow(t, to); !slices.Equal(again, files) {
		t.Errorf("windows that are sent again are in other files: %v, were %v", again, files)
	}
}

// only is the only window that waits in a spool.
func only(t *testing.T, folder string) *spool.Entry {
	t.Helper()
	list, err := spool.List(folder)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d windows, %v", len(list), err)
	}
	return &list[0]
}

// The name of a window's file is the same whenever it is sent, and reads back for any host and rank.
func TestFileNames(t *testing.T) {
	for _, c := range []struct{ host, rank, name, reads string }{
		{"node7", "3", "2026-11-23T10/node7/1795428000000000000-1795428060000000000-12-3.node7.r3.hatchet_msgpack.zst", "3"},
		{"", "", "2026-11-23T10/unknown/1795428000000000000-1795428060000000000-12-3.unknown.hatchet_msgpack.zst", ""},
		{"../a b/10.0.0.1", "x", "2026-11-23T10/___a_b_10_0_0_1/1795428000000000000-1795428060000000000-12-3.___a_b_10_0_0_1.hatchet_msgpack.zst", ""},
		{strings.Repeat("h", 300), "7", "2026-11-23T10/" + strings.Repeat("h", 100) + "/1795428000000000000-1795428060000000000-12-3." + strings.Repeat("h", 100) + ".r7.hatchet_msgpack.zst", "7"},
	} {
		info := profile.Info{profile.InfoHost: c.host, profile.InfoRank: c.rank, profile.InfoStart: "1795428000000000000"}
		got := FileName("1795428060000000000-12-3", info)
		facts, ok := ReadFileName(filepath.Base(got))
		if got != c.name || !ok || facts.Rank != c.reads || formats.ByPath(got) == nil {
			t.Errorf("%q of rank %q is %s, read as %+v, %v", c.host, c.rank, got, facts, ok)
		}
	}
	for _, other := range []string{"train.rank3.hatchet", "1795428000000000000.hatchet_msgpack.zst", "x1795428000000000000-1795428060000000000-12-3.a.hatchet_msgpack.zst"} {
		if _, ok := ReadFileName(other); ok {
			t.Errorf("%s is taken for the name of a window", other)
		}
	}
	for _, other := range []string{"2026-11-23", "2026-11-23T1", "2026-13-23T10", "node7", ""} {
		if _, ok := ReadHour(other); ok {
			t.Errorf("%q is taken for an hour", other)
		}
	}
}

// A folder that is not there is not made, because its disk may be away; windows wait until it is.
func TestFolderThatIsAway(t *testing.T) {
	parent := t.TempDir()
	to, spoolFolder := filepath.Join(parent, "mount"), filepath.Join(t.TempDir(), "spool")
	want := put(t, spoolFolder, window(rand.New(rand.NewPCG(7, 8)), 5, time.Now()))
	s := &Sender{Target: target(t, "file://"+to), Folder: spoolFolder, pace: quick}
	s.Start()
	testkit.Await(t, "the sender to try", func() bool { return s.Status().Retries > 0 })
	if status := s.Status(); !strings.Contains(status.LastError, "make it, or mount it") || status.LastError != s.Target.Away() || len(filesBelow(t, parent)) > 0 {
		t.Errorf("status %+v", status)
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		t.Fatal(err)
	}
	if status := within(s, time.Minute); status.Sent != 1 || s.Target.Away() != "" {
		t.Errorf("status %+v", status)
	}
	sameTotals(t, totalsOf(t, to, filesBelow(t, to)), want)
}

// A mount that does not answer holds up neither the end of the program nor, by one write after another, the machine's memory.
func TestFolderThatHangs(t *testing.T) {
	to, spoolFolder := t.TempDir(), filepath.Join(t.TempDir(), "spool")
	p := window(rand.New(rand.NewPCG(9, 10)), 5, time.Now())
	put(t, spoolFolder, p)
	s := &Sender{Target: target(t, "file://"+to), Folder: spoolFolder, pace: quick}
	list, err := s.Target.requests(only(t, spoolFolder))
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	// A pipe without a reader: to open it for writing waits.
	pipe := filepath.Join(to, FileName(only(t, spoolFolder).Name, p.Info))
	if err := os.MkdirAll(filepath.Dir(pipe), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	s.Start()
	testkit.Await(t, "the sender to begin", func() bool { return len(s.Target.folder.busy) > 0 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if status := s.Finish(ctx); status.Sent != 0 || status.Waiting != 1 {
		t.Errorf("status %+v", status)
	}
	if a, _ := list[0].send(context.Background()); a.outcome != later || !strings.Contains(a.why, "earlier write") {
		t.Errorf("a second write answers %+v", a)
	}
	reader, err := os.Open(pipe) // has the write go on
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	testkit.Await(t, "the write to end", func() bool { return len(s.Target.folder.busy) == 0 })
}
