package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
)

const attachLong = `attach profiles a program that runs already and was not started by proton run: Python, or any other program that uses CUDA.

  proton attach 4711                     60 seconds, written to attach.4711.hatchet
  proton attach 4711 --for 10s -n out    10 seconds, written to out.hatchet
  proton attach 4711 -c python           kernels by Python call path

PID is the process that uses the GPU, as nvidia-smi lists it. The library is loaded into the process, records for the time, and stops;
Ctrl-C ends that early. The library stays loaded; a launch takes about 0.3 us longer after that if the program has launched CUDA graphs, because
CUPTI is not left under them. If proton attach is killed, the process ends its session at the same time.

It takes the permission of a debugger: the same user, and kernel.yama.ptrace_scope 0, or root, or in a container the capability SYS_PTRACE. It needs
Linux on x86-64 and glibc. Scopes that were open before are not known, kernels of CUDA graphs that were instantiated before stand at the
launch of the graph, and programs that use HIP have to be started by proton run.

Exit codes: 0, or
    1  the process cannot be attached to; it goes on unharmed
    2  the command line is invalid
    3  nothing was recorded (not with --allow-empty)`

func newAttachCommand() *cobra.Command {
	var options run.Options
	duration := secondsFlag(60)
	cmd := &cobra.Command{
		Use:   "attach [flags] PID",
		Short: "profile a program that runs already, for a time",
		Long:  attachLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give one process id, as in proton attach 4711 --for 60s")
			}
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid < 1 {
				return usagef("read the process id %q: give the number that nvidia-smi or ps shows", args[0])
			}
			return attach(&options, pid, float64(duration))
		},
	}
	flags := flagsOf(cmd)
	flags.Var(someSecondsFlag{&duration}, "for", "record for `TIME`, such as 10s")
	flags.StringVarP(&options.Name, "name", "n", "", "write the profile to `NAME` plus suffix (default: attach.PID)")
	flags.StringVarP(&options.Context, "context", "c", "shadow", "attribute kernels to scopes or to Python call paths, `CONTEXT`: shadow or python")
	flags.StringVarP(&options.Data, "data", "d", "tree", "collect `DATA`: tree, a call-path tree, or timeline")
	flags.StringVar(&options.Activities, "activities", "", "record `KINDS` of work in addition to kernels, separated by commas: memcpy, memset, sync (default: all in a timeline, none in a tree)")
	flags.StringVarP(&options.Hook, "hook", "k", "triton", "use a launch `HOOK`: triton takes names, flops and bytes of kernels from their launch_metadata, none does not")
	flags.Var(someSecondsFlag{(*secondsFlag)(&options.WatchHang)}, "watch-hang", "when the GPU has work and finishes none for `TIME`, such as 30s, say which kernel and call path")
	flags.BoolVar(&options.AllowEmpty, "allow-empty", false, "exit with 0 if nothing was recorded")
	choices(cmd, "context", runinfo.Contexts...)
	choices(cmd, "data", runinfo.DataForms...)
	choices(cmd, "hook", "triton", "none")
	return cmd
}

func attach(options *run.Options, pid int, seconds float64) error {
	options.Target = []string{strconv.Itoa(pid)}
	options.Graph, options.Checkpoint = "node", 2
	if err := checkRun(options); err != nil {
		return usage(err)
	}
	if options.Name == "-" {
		return usagef("--name -: the profile of a program that runs already is a file: give its name")
	}
	if options.Name == "" || strings.HasSuffix(options.Name, "/") {
		options.Name += fmt.Sprintf("attach.%d", pid)
	}
	layout, _, err := parts()
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	code, err := run.Attach(*options, layout, settings.Root.Get(os.Getenv), pid, seconds, interrupted, toUser())
	if err == nil && code != 0 {
		return &exitError{code: code}
	}
	return err
}
