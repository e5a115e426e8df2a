package runinfo

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/procstat"
)

// Launched is what the launcher of a distributed run has put into the environment of a process: its rank, of how many, whether other
// hosts take part, and how often the launcher has restarted it. Nothing else knows the launchers' variables.
type Launched struct {
	Launcher string // "torchrun", "Open MPI", "Slurm", …; "" without a launcher
	Rank     int    // -1 without one
	World    int    // number of ranks; 0 if it is not known
	Hosts    bool   // more hosts than this one take part, as far as the launcher says
	Restart  int    // how often the launcher has started this rank again
	Requeue  int    // how often the scheduler has started the whole job again
	Job      string // what the launcher calls the job; "" without a name that other jobs do not have
	Problem  string // a sentence that says why the rank cannot be used; Rank is -1 then
}

// Ranked reports whether the process is one of several. One process alone needs no rank in the name of its file.
func (p Launched) Ranked() bool { return p.Rank >= 0 && p.World != 1 }

// family is a launcher and the variables that it sets for each process.
type family struct {
	name               string
	rank, world        string   // what makes a process one of several
	needs              string   // a variable without which the others are left over from something else; "" for none
	hosts, localWorld  string   // number of hosts; number of ranks on this host
	local              string   // which of these it is
	restart            string   // how often the rank was started before
	job                []string // what makes the job differ from others, joined by a dot
	zeroOnEachHost     bool     // every host may have a rank 0
	steps              bool     // needs is a step of Slurm, of which srun makes only some
	joinsOtherLauncher bool     // frameworks and operators set these variables too
}

const torchrun, kubernetes = "torchrun", "Kubernetes"

// families are in order of precedence: torchrun within srun or mpirun starts the ranks, and so do programs that set RANK. An
// indexed job of Kubernetes starts pods, in which another launcher may start ranks.
var families = []family{
	{name: torchrun, rank: "RANK", world: "WORLD_SIZE", hosts: "GROUP_WORLD_SIZE", localWorld: "LOCAL_WORLD_SIZE", local: "LOCAL_RANK",
		restart: "TORCHELASTIC_RESTART_COUNT", job: []string{"TORCHELASTIC_RUN_ID"}, joinsOtherLauncher: true},
	{name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", world: "OMPI_COMM_WORLD_SIZE", localWorld: "OMPI_COMM_WORLD_LOCAL_SIZE", local: "OMPI_COMM_WORLD_LOCAL_RANK",
		job: []string{"PMIX_NAMESPACE"}},
	{name: "PMIx", rank: "PMIX_RANK", world: "SLURM_NTASKS", hosts: "SLURM_STEP_NUM_NODES", local: "SLURM_LOCALID", job: []string{"PMIX_NAMESPACE"}},
	{name: "MPI", rank: "PMI_RANK", world: "PMI_SIZE", localWorld: "MPI_LOCALNRANKS", local: "MPI_LOCALRANKID"}, // MPICH and Intel MPI
	{name: "Slurm", rank: "SLURM_PROCID", world: "SLURM_NTASKS", hosts: "SLURM_STEP_NUM_NODES", local: "SLURM_LOCALID", needs: "SLURM_STEP_ID", steps: true,
		job: []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{name: kubernetes, rank: "JOB_COMPLETION_INDEX", zeroOnEachHost: true},                      // of a JobSet, every job has an index 0
	{name: kubernetes, rank: "LWS_WORKER_INDEX", world: "LWS_GROUP_SIZE", zeroOnEachHost: true}, // a LeaderWorkerSet, with several groups
	{name: kubernetes, rank: "VC_TASK_INDEX", zeroOnEachHost: true},                             // Volcano counts the pods of each task
	{rank: "LOCAL_RANK", world: "LOCAL_WORLD_SIZE", local: "LOCAL_RANK", zeroOnEachHost: true},
}

// LaunchedBy returns what the environment says. The first launcher that has set its variable for the rank counts, also if the
// value cannot be used: a rank that another launcher gives would be wrong. Slurm starts a job again that is
// requeued, whatever starts the ranks in it.
func LaunchedBy(env func(string) string) Launched {
	p := Launched{Rank: -1}
	for _, f := range families {
		if env(f.rank) != "" && f.present(env) {
			p = f.process(env)
			break
		}
	}
	if env("SLURM_JOB_ID") != "" {
		p.Requeue = count(env, "SLURM_RESTART_COUNT")
	}
	return p
}

// LocalRank returns which of the ranks on this host the process is, counted from 0; 0 if the environment does not say.
func LocalRank(env func(string) string) int {
	for _, f := range families {
		if env(f.rank) != "" && f.present(env) {
			return count(env, f.local)
		}
	}
	return 0
}

// present reports whether the variables are of a process that the launcher has started. The script of an sbatch job has
// SLURM_PROCID=0 and the number of tasks of its later steps, and so does a shell of salloc: the steps of these have the
// highest 16 numbers.
func (f family) present(env func(string) string) bool {
	if f.needs == "" {
		return true
	}
	value := env(f.needs)
	if !f.steps {
		return value != ""
	}
	step, err := strconv.ParseUint(value, 10, 32)
	return err == nil && step < 0xfffffff0
}

func (f family) process(env func(string) string) Launched {
	p := Launched{Launcher: f.launcher(env), Rank: -1, World: count(env, f.world), Restart: count(env, f.restart), Job: f.jobName(env)}
	p.Hosts = count(env, f.hosts) > 1 || f.zeroOnEachHost
	if local := count(env, f.localWorld); local > 0 && p.World > local {
		p.Hosts = true
	}
	if p.Launcher == kubernetes && env(f.localWorld) == "" && p.World != 1 {
		p.Hosts = true // operators start one process in a pod, and a pod has a host name of its own
	}
	rank, err := strconv.Atoi(env(f.rank))
	switch wrong := fmt.Sprintf("%s=%.40q is not a rank", f.rank, env(f.rank)); {
	case err != nil || rank < 0:
		p.Problem = wrong + ": a rank is a number, at least 0"
	case f.world != "" && env(f.world) != "" && p.World == 0:
		p.Problem = fmt.Sprintf("%s=%.40q is not a number of ranks", f.world, env(f.world))
	case p.World > 0 && rank >= p.World:
		p.Problem = fmt.Sprintf("%s of %s=%d: ranks end at %d", wrong, f.world, p.World, p.World-1)
	default:
		p.Rank = rank
	}
	return p
}

// launcher is the family's name. RANK is also set by other launchers, by operators of Kubernetes and by frameworks.
func (f family) launcher(env func(string) string) string {
	switch {
	case !f.joinsOtherLauncher || env("TORCHELASTIC_RUN_ID") != "":
		return f.name
	case env("OMPI_COMM_WORLD_RANK") != "":
		return "Open MPI"
	case env("SLURM_STEP_ID") != "":
		return "Slurm"
	case env("KUBERNETES_SERVICE_HOST") != "":
		return kubernetes
	}
	return ""
}

// jobName joins what the launcher says of the job. torchrun calls every job "none" that has one host and no name.
func (f family) jobName(env func(string) string) string {
	var parts []string
	for _, variable := range f.job {
		if value := env(variable); value != "" && value != "none" {
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, ".")
}

// count is a variable's positive number, 0 without one.
func count(env func(string) string, variable string) int {
	if variable == "" {
		return 0
	}
	n, _ := strconv.Atoi(env(variable))
	return max(n, 0)
}

// Agent is the launcher's process above this one whose ranks may be started again with numbers that do not count that, 0 without one:
// an agent of torchrun counts the failures of its own ranks, and starts them again also when those of another host have failed.
func (p Launched) Agent(pid int) int {
	if p.Launcher != torchrun {
		return 0
	}
	for range 64 {
		if pid = procstat.Parent(pid); pid <= 1 {
			return 0
		}
		if environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil {
			return 0
		} else if !bytes.Contains(environment, []byte("TORCHELASTIC_RESTART_COUNT=")) {
			return pid
		}
	}
	return 0
}

// Text returns the rank as a template's %r has it: "0" for a process without one, as in a run of one process, and "pid<P>" where
// the launcher's cannot be used.
func (p Launched) Text(pid int) string {
	switch {
	case p.Rank >= 0:
		return strconv.Itoa(p.Rank)
	case p.Problem != "":
		return "pid" + strconv.Itoa(pid)
	}
	return "0"
}

// HostName is the part of a host's name before its domain, for the names of files.
func HostName(name string) string {
	short, _, _ := strings.Cut(name, ".")
	return cmp.Or(short, name)
}
