package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/export/spool"
)

const pushLong = `push sends the windows that wait for a server: those that "proton run --push URL" or start(push=URL) recorded
while the server was away, and those of programs that were killed. URL and the environment have the same meaning as there.

With --status it sends nothing, and prints as JSON what the last sender has done and what waits.

Exit codes: 0 everything is sent, 1 windows still wait or were refused, 2 the command line is invalid.`

func newPushCommand() *cobra.Command {
	var protocol string
	var wait, every float64
	var follow int
	var status bool
	cmd := &cobra.Command{
		Use:   "push [flags] URL",
		Short: "send windows that wait for a server",
		Long:  pushLong,
		Args:  exactly("the URL of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := newSender(args[0], protocol)
			switch {
			case err != nil && follow != 0:
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]string{"error": err.Error()})
			case err != nil:
				return usage(err)
			case wait < 0:
				return usagef("--wait %g is negative: give seconds", wait)
			case status:
				return printPushStatus(cmd, s)
			case follow != 0:
				return followProgram(cmd.OutOrStdout(), s, follow, run.Seconds(every), run.Seconds(wait))
			}
			return sendWaiting(cmd, s, run.Seconds(wait))
		},
	}
	flags := flagsOf(cmd)
	flags.StringVar(&protocol, "protocol", "", "speak `PROTOCOL`: pyroscope, parca or otlp (default: what the URL says, as in parca+https://, or its port)")
	flags.Float64Var(&wait, "wait", 60, "wait at most `SECONDS` for the server")
	flags.BoolVar(&status, "status", false, "print what was sent and what waits, and send nothing")
	flags.IntVar(&follow, "follow", 0, "send while process `PID` lives, and at most --wait seconds longer")
	flags.Float64Var(&every, "every", 60, "windows of that program have `SECONDS`")
	for _, flag := range []string{"follow", "every"} { // for goproton.start
		_ = flags.MarkHidden(flag)
	}
	choices(cmd, "protocol", push.Protocols()...)
	return cmd
}

func newSender(url, protocol string) (*push.Sender, error) {
	to, err := push.NewTarget(url, protocol, os.Getenv)
	if err != nil {
		return nil, err
	}
	folder, err := to.Spool(os.Getenv)
	if err == nil {
		err = spool.Make(folder)
	}
	return &push.Sender{Target: to, Folder: folder}, err
}

// sendWaiting sends what is there.
func sendWaiting(cmd *cobra.Command, s *push.Sender, wait time.Duration) error {
	s.Start()
	ctx, cancel := run.UntilInterrupt(wait)
	defer cancel()
	sent := s.Finish(ctx)
	lines := run.PushLines(sent, s.Folder)
	if len(lines) == 0 {
		lines = []string{"no windows wait for " + sent.Target}
	}
	tellEach(cmd.ErrOrStderr(), lines)
	if sent.Waiting+sent.Refused+sent.Unreadable > 0 {
		return &exitError{code: 1}
	}
	return nil
}

// followed is what a program reads that has its windows sent.
type followed struct {
	Spool      string `json:"spool"`
	Sender     string `json:"sender"`                // see push.StatusOf
	Counters   string `json:"counters,omitempty"`    // a folder, see push.CounterSetsIn
	NoCounters string `json:"no_counters,omitempty"` // why there is none
	Waiting    string `json:"waiting,omitempty"`     // see push.Counters
	Refused    string `json:"refused,omitempty"`
	Away       string `json:"away,omitempty"` // why nothing can be sent now
}

// counters sends those that the program may leave.
func (f *followed) counters(s *push.Sender, every time.Duration) *push.Counters {
	err := s.Target.CheckCounters()
	if err == nil {
		f.Counters, err = countersFolder()
	}
	if err != nil {
		f.NoCounters = err.Error()
		return nil
	}
	f.Waiting = filepath.Join(f.Counters, "waiting")
	f.Refused = f.Waiting + push.Refused
	c := &push.Counters{Sender: s, Sets: push.CounterSetsIn(f.Counters), Every: every, Waiting: f.Waiting}
	c.Start()
	return c
}

// followProgram sends while a program runs, which reads from out where it leaves what is to be sent.
func followProgram(out io.Writer, s *push.Sender, pid int, every, wait time.Duration) error {
	program, err := run.Watch(pid)
	if err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // meant for the program
	hurry := make(chan os.Signal, 1)
	signal.Notify(hurry, syscall.SIGHUP) // of the program, which waits for its windows
	s.Spread = true
	s.Start()
	f := followed{Spool: s.Folder, Sender: s.Status().Sender, Away: s.Target.Away()}
	c := f.counters(s, every)
	if c != nil {
		defer os.RemoveAll(f.Counters)
	}
	if err := json.NewEncoder(out).Encode(f); err != nil {
		return err
	}
	go func() {
		for range hurry {
			s.Hurry()
			if c != nil {
				c.Hurry()
			}
		}
	}()
	program.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	run.FinishPush(ctx, s, c)
	return nil
}

// printPushStatus prints the status that the last sender has left, with what waits now.
func printPushStatus(cmd *cobra.Command, s *push.Sender) error {
	status, err := push.ReadStatus(s.Folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	status.Target = s.Target.String()
	out := json.NewEncoder(cmd.OutOrStdout())
	out.SetIndent("", "  ")
	return out.Encode(status)
}
