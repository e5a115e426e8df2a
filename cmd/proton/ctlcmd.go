package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/ctl"
	"github.com/goproton/goproton/internal/figures"
)

const ctlLong = `ctl starts and stops the recording of a program that runs below proton run --ctl or proton run --paused:

  proton run --paused train.py &
  proton ctl                  lists the processes that can be controlled
  proton ctl PID start        begins to record; returns when launches are recorded
  proton ctl PID stop         ends to record; the profile is written when the program ends, and at checkpoints
  proton ctl PID status       prints whether the process records, and what it has recorded
  proton ctl start            is for the only process that can be controlled

PID is a process of the program, or one above it, such as proton run: then all processes below it are meant. The connection is a
socket in $XDG_RUNTIME_DIR/goproton, or in /tmp/goproton-UID, which only the same user can reach.

Exit codes: 0, or
    1  there is no such process, or it does not listen or answer
    2  the command line is invalid`

func newCtlCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ctl [[PID] start|stop|status]",
		Short: "start and stop the recording of a running program",
		Long:  ctlLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, command, err := parseCtl(args)
			if err != nil {
				return usage(err)
			}
			return control(cmd, pid, command, asJSON)
		},
		ValidArgsFunction: completeCtl,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers as JSON, one in a line; fields are added in later versions, never renamed")
	return cmd
}

// parseCtl reads the arguments; pid 0 stands for all processes, and of start and stop for the only one.
func parseCtl(args []string) (pid int, command string, err error) {
	if len(args) == 0 {
		return 0, "status", nil
	}
	if len(args) == 1 && slices.Contains(ctl.Commands, args[0]) {
		return 0, args[0], nil
	}
	pid, err = strconv.Atoi(args[0])
	if err != nil || pid < 1 {
		return 0, "", fmt.Errorf("read the process id %q: give a number, and then start, stop or status; proton ctl alone lists the processes", args[0])
	}
	if len(args) != 2 || !slices.Contains(ctl.Commands, args[1]) {
		return 0, "", fmt.Errorf("proton ctl %s: give one of %s after the process id", strings.Join(args, " "), strings.Join(ctl.Commands, ", "))
	}
	return pid, args[1], nil
}

// control sends a command to the processes that a pid means, and prints their answers.
func control(cmd *cobra.Command, pid int, command string, asJSON bool) error {
	all, err := ctl.List(os.Getenv)
	if err != nil && len(all) == 0 {
		return err
	}
	entries := all
	if pid != 0 {
		if entries, err = ctl.Of(all, pid); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return errors.New("no process can be controlled: start the program with proton run --ctl, or with proton run --paused")
	}
	if pid == 0 && command != "status" && len(entries) > 1 {
		return usagef("%d processes can be controlled: write proton ctl PID %s; proton ctl alone lists them", len(entries), command)
	}
	var failed error
	for _, e := range entries {
		answer, err := e.Send(command)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if err := printAnswer(cmd, answer, asJSON); err != nil {
			return err
		}
	}
	return failed
}

func printAnswer(cmd *cobra.Command, a ctl.Answer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(a)
	}
	took := time.Duration(a.Seconds * float64(time.Second)).Nanoseconds()
	line := fmt.Sprintf("%d %s, %s of %s, %s", a.PID, a.State, figures.Plural(a.Windows, "window", "windows"), figures.Time(took), figures.Count(a.Kernels, "kernel"))
	if a.Steps > 0 {
		line += ", " + figures.Count(a.Steps, "step")
	}
	if a.Budget > 0 {
		line += fmt.Sprintf(", overhead %.2f%% of a budget of %s", 100*a.Overhead, figures.Share(a.Budget))
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), line+": "+a.Command)
	return err
}

func completeCtl(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	switch len(args) {
	case 0:
		list, _ := ctl.List(os.Getenv) //nolint:errcheck // a completion has no messages
		for _, e := range list {
			words = append(words, strconv.Itoa(e.PID))
		}
	case 1:
		words = ctl.Commands
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
