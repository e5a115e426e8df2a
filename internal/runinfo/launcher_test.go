package runinfo

import (
	"strconv"
	"strings"
	"testing"
)

// environment makes a lookup of "A=1 B=2".
func environment(text string) func(string) string {
	vars := map[string]string{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = strings.ReplaceAll(value, "~", " ")
	}
	return func(name string) string { return vars[name] }
}

// The variables of each launcher as it sets them: torchrun 2.15, mpirun of Open MPI 4.1 and 5.0, srun 22.05, MPICH's mpiexec.
func TestDetect(t *testing.T) {
	const torchrun = "RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 GROUP_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 "
	const slurm = "SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_JOB_ID=71 SLURM_STEP_NUM_NODES=2 "
	const pod = "KUBERNETES_SERVICE_HOST=10.96.0.1 "
	for _, c := range []struct {
		env  string
		want Launched
	}{
		{"", Launched{Rank: -1}},
		{"WORLD_SIZE=8", Launched{Rank: -1}}, // left over: no process of a launcher
		{torchrun, Launched{Launcher: "torchrun", Rank: 5, World: 8, Hosts: true}},
		{"RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 GROUP_WORLD_SIZE=1 TORCHELASTIC_RUN_ID=9a4c TORCHELASTIC_RESTART_COUNT=3",
			Launched{Launcher: "torchrun", Rank: 0, World: 2, Restart: 3, Job: "9a4c"}},
		{torchrun + slurm + "SLURM_STEP_ID=0", Launched{Launcher: "torchrun", Rank: 5, World: 8, Hosts: true}},
		{"RANK=1 WORLD_SIZE=4", Launched{Rank: 1, World: 4}},
		{"RANK=1 WORLD_SIZE=4 KUBERNETES_SERVICE_HOST=10.0.0.1 JOB_COMPLETION_INDEX=1", Launched{Launcher: "Kubernetes", Rank: 1, World: 4, Hosts: true}},
		// PyTorchJob of Kubeflow's training operator, which starts torchrun or the program; TrainJob, which is a JobSet and starts torchrun
		{pod + "MASTER_ADDR=job-master-0 MASTER_PORT=23456 WORLD_SIZE=2 RANK=1 PYTHONUNBUFFERED=1", Launched{Launcher: "Kubernetes", Rank: 1, World: 2, Hosts: true}},
		{pod + "MASTER_ADDR=job-master-0 WORLD_SIZE=1 RANK=0", Launched{Launcher: "Kubernetes", Rank: 0, World: 1}},
		{pod + "PET_NNODES=2 PET_NODE_RANK=1 JOB_COMPLETION_INDEX=1 " + torchrun, Launched{Launcher: "torchrun", Rank: 5, World: 8, Hosts: true}},
		{pod + "LWS_WORKER_INDEX=1 LWS_GROUP_SIZE=2 LWS_LEADER_ADDRESS=a", Launched{Launcher: "Kubernetes", Rank: 1, World: 2, Hosts: true}},
		{pod + "VC_TASK_INDEX=3 VC_WORKER_NUM=4", Launched{Launcher: "Kubernetes", Rank: 3, Hosts: true}},
		// an MPIJob's workers are started by mpirun
		{pod + "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2", Launched{Launcher: "Open MPI", Rank: 3, World: 4, Hosts: true}},
		{"RANK=7", Launched{Rank: 7}},
		{"JOB_COMPLETION_INDEX=6", Launched{Launcher: "Kubernetes", Rank: 6, Hosts: true}},
		{"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_RANK=3 PMIX_NAMESPACE=prterun-n-12@1",
			Launched{Launcher: "Open MPI", Rank: 3, World: 4, Job: "prterun-n-12@1"}},
		{"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2", Launched{Launcher: "Open MPI", Rank: 3, World: 4, Hosts: true}},
		{"PMI_RANK=1 PMI_SIZE=2", Launched{Launcher: "MPI", Rank: 1, World: 2}},
		{"PMIX_RANK=1 " + slurm, Launched{Launcher: "PMIx", Rank: 1, World: 4, Hosts: true}},
		{slurm + "SLURM_STEP_ID=3 SLURM_RESTART_COUNT=1", Launched{Launcher: "Slurm", Rank: 2, World: 4, Hosts: true, Requeue: 1, Job: "71.3"}},
		{torchrun + "TORCHELASTIC_RESTART_COUNT=2 SLURM_JOB_ID=71 SLURM_RESTART_COUNT=1", Launched{Launcher: "torchrun", Rank: 5, World: 8, Hosts: true, Restart: 2, Requeue: 1}},
		{"SLURM_JOB_ID=71 SLURM_RESTART_COUNT=2", Launched{Rank: -1, Requeue: 2}}, // one process in the script of sbatch
		{"SLURM_RESTART_COUNT=2", Launched{Rank: -1}},
		{slurm, Launched{Rank: -1}},                              // the script of sbatch
		{slurm + "SLURM_STEP_ID=4294967290", Launched{Rank: -1}}, // the shell of salloc
		{slurm + "SLURM_STEP_ID=4294967291", Launched{Rank: -1}}, // the script of sbatch, again
		{"LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", Launched{Rank: 1, World: 2, Hosts: true}},
		{"RANK=three WORLD_SIZE=8", Launched{Rank: -1, World: 8, Problem: `RANK="three" is not a rank: a rank is a number, at least 0`}},
		{"RANK=-1 WORLD_SIZE=8", Launched{Rank: -1, World: 8, Problem: `RANK="-1" is not a rank: a rank is a number, at least 0`}},
		{"RANK=8 WORLD_SIZE=8", Launched{Rank: -1, World: 8, Problem: `RANK="8" is not a rank of WORLD_SIZE=8: ranks end at 7`}},
		{"RANK=1.0 OMPI_COMM_WORLD_RANK=1", Launched{Launcher: "Open MPI", Rank: -1, Problem: `RANK="1.0" is not a rank: a rank is a number, at least 0`}},
		{"PMI_RANK=1 PMI_SIZE=many", Launched{Launcher: "MPI", Rank: -1, Problem: `PMI_SIZE="many" is not a number of ranks`}},
		{"RANK=99999999999999999999", Launched{Rank: -1, Problem: `RANK="99999999999999999999" is not a rank: a rank is a number, at least 0`}},
		{"RANK=" + strings.Repeat("x", 5000), Launched{Rank: -1, Problem: `RANK="` + strings.Repeat("x", 40) + `" is not a rank: a rank is a number, at least 0`}},
	} {
		if got := LaunchedBy(environment(c.env)); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.env, got, c.want)
		}
	}
}

// Whatever the variables hold, the rank is below the number of ranks or there is none, with a sentence that says why.
func FuzzDetect(f *testing.F) {
	f.Add("1", "2", "1", "0")
	f.Add("-0", "0x10", "\x00", "4294967291")
	f.Fuzz(func(t *testing.T, rank, world, local, restart string) {
		vars := map[string]string{"RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": local, "TORCHELASTIC_RESTART_COUNT": restart}
		p := LaunchedBy(func(name string) string { return vars[name] })
		switch {
		case p.World < 0 || p.Restart < 0 || p.Rank < -1 || p.World > 0 && p.Rank >= p.World:
			t.Errorf("%q: %+v", vars, p)
		case rank != "" && (p.Rank < 0) != (p.Problem != ""):
			t.Errorf("%q: %+v", vars, p)
		case p.Rank >= 0 && p.Text(1) != strconv.Itoa(p.Rank):
			t.Errorf("%q: %+v is %s", vars, p, p.Text(1))
		}
	})
}

func TestHost(t *testing.T) {
	for name, want := range map[string]string{"node7": "node7", "node7.cluster.local": "node7", ".x": ".x", "": ""} {
		if got := HostName(name); got != want {
			t.Errorf("host %q: got %q, want %q", name, got, want)
		}
	}
}

func TestLocal(t *testing.T) {
	for want, variables := range map[int][]map[string]string{
		0: {{}, {"RANK": "5", "WORLD_SIZE": "8"}, {"RANK": "5", "LOCAL_RANK": "-1"}, {"SLURM_PROCID": "3", "SLURM_LOCALID": "3"}},
		3: {{"RANK": "11", "LOCAL_RANK": "3"}, {"OMPI_COMM_WORLD_RANK": "11", "OMPI_COMM_WORLD_LOCAL_RANK": "3"},
			{"SLURM_PROCID": "11", "SLURM_STEP_ID": "0", "SLURM_LOCALID": "3"}, {"RANK": "7", "LOCAL_RANK": "3", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_LOCALID": "1"}},
	} {
		for _, environment := range variables {
			if got := LocalRank(func(name string) string { return environment[name] }); got != want {
				t.Errorf("%v: %d, want %d", environment, got, want)
			}
		}
	}
}
