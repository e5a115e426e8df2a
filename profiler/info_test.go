package profiler

import (
	"os"
	"strconv"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/profile"
)

// TestInfo: what torchrun, mpirun and srun say about a process's rank, and nothing without a launcher.
func TestInfo(t *testing.T) {
	launchers := [][2]string{{"RANK", "WORLD_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}}
	t.Setenv("SLURM_STEP_ID", "0")
	for _, l := range append(launchers, [2]string{"PMI_RANK", "PMI_SIZE"}, [2]string{"LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
		t.Setenv(l[0], "")
		t.Setenv(l[1], "")
	}
	alone := infoOf("/folder/train", 12)
	if _, ranked := alone[profile.InfoRank]; ranked || alone[profile.InfoName] != "train" || alone[profile.InfoStart] != "12" ||
		alone[profile.InfoPID] != strconv.Itoa(os.Getpid()) || alone[profile.InfoHost] == "" || alone[profile.InfoTool] == "" {
		t.Errorf("%v", alone)
	}
	for _, l := range launchers {
		t.Run(l[0], func(t *testing.T) {
			t.Setenv(l[0], "3")
			t.Setenv(l[1], "8")
			if info := infoOf("-", 12); info[profile.InfoRank] != "3" || info[profile.InfoWorld] != "8" || info[profile.InfoName] != "" {
				t.Errorf("%v", info)
			}
		})
	}
	t.Setenv("RANK", "1")
	t.Setenv("WORLD_SIZE", "2")
	t.Setenv("TORCHELASTIC_RUN_ID", "night")
	t.Setenv("TORCHELASTIC_RESTART_COUNT", "4")
	info := infoOf("train", 12)
	if info[profile.InfoLauncher] != "torchrun" || info[profile.InfoRestart] != "4" || info[profile.InfoJob] != "night" {
		t.Errorf("%v", info)
	}
	t.Setenv("RANK", "2") // of 2
	if info := infoOf("train", 12); info[profile.InfoRank] != "" || info[profile.InfoWorld] != "" || info[profile.InfoHost] == "" {
		t.Errorf("a wrong rank: %v", info)
	}
}

// TestDistributions: a node's kernels, on whichever GPU, are one distribution; it is a file's unless switched off.
func TestDistributions(t *testing.T) {
	for _, off := range []bool{false, true} {
		m, f := stage(t)
		id := start(t, m, "p", StartOptions{NoStats: off})
		for i, nanos := range []uint64{100, 300, 200} {
			hotpathtest.Launch(uint64(i+1), 1)
			f.ends(record.Activity{Correlation: uint64(i + 1), Name: "k", Device: uint32(i % 2), Start: 1000, End: 1000 + nanos})
		}
		m.Flush()
		p, err := m.Profile(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		times := p.Root.Child("k").Times
		if off && times != nil || !off && (times == nil || times.Count != 3 || times.Min != 100 || times.Max != 300 || times.Mean != 200) {
			t.Errorf("without: %v, times %+v", off, times)
		}
		if p.Info[profile.InfoName] != "p" {
			t.Errorf("info %v", p.Info)
		}
		m.Finalize(nil, "") // two managers would share the rings
	}
}
