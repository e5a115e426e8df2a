package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/export/prometheus"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/internal/runinfo"
)

// newMetricsCommand serves the counters of a program that goproton.start asks it to, from outside of that program.
func newMetricsCommand() *cobra.Command {
	var follow int
	var wait float64
	var spool, sender string
	cmd := &cobra.Command{
		Use:    "metrics --follow PID [flags] ADDRESS",
		Short:  "serve the counters of a running program",
		Args:   exactly("an address to serve at"),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serveProgram(cmd.OutOrStdout(), args[0], follow, run.Seconds(wait), pushedBy(spool, sender))
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&follow, "follow", 0, "serve while process `PID` lives")
	flags.Float64Var(&wait, "wait", 0, "and at most `SECONDS` longer, until someone has read the last counters")
	flags.StringVar(&spool, "spool", "", "of the windows of that program, `FOLDER`")
	flags.StringVar(&sender, "sender", "", "whose status there counts, `NAME`, as proton push --follow says it")
	return cmd
}

// served is what a program reads from the process that serves its counters.
type served struct {
	Folder    string `json:"folder,omitempty"` // for counters
	URL       string `json:"url,omitempty"`
	Elsewhere bool   `json:"elsewhere,omitempty"` // other machines reach it
	Invalid   string `json:"invalid,omitempty"`   // the address cannot be read
	Error     string `json:"error,omitempty"`     // it cannot be used
}

// serveProgram serves while a program runs, which reads from out where its counters go.
func serveProgram(out io.Writer, address string, pid int, wait time.Duration, pushed func() prometheus.Pushed) error {
	say := func(s served) error { return json.NewEncoder(out).Encode(s) }
	if err := prometheus.CheckAddress(address); err != nil {
		return say(served{Invalid: err.Error()})
	}
	program, err := run.Watch(pid)
	if err != nil {
		return err
	}
	folder, err := countersFolder()
	if err != nil {
		return say(served{Error: err.Error()})
	}
	defer os.RemoveAll(folder)
	c := &prometheus.Collector{Folder: folder, Pushed: pushed}
	signal.Ignore(os.Interrupt) // meant for the program
	server, err := prometheus.Listen(address, runinfo.LocalRank(os.Getenv), c)
	if err != nil {
		return say(served{Error: err.Error()})
	}
	if err := say(served{Folder: folder, URL: server.URL, Elsewhere: server.Elsewhere}); err != nil {
		return err
	}
	program.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	server.Finish(ctx)
	return nil
}

// pushedBy returns what a sender has done with the windows in a spool; nil without a spool.
func pushedBy(spool, sender string) func() prometheus.Pushed {
	if spool == "" {
		return nil
	}
	status := push.StatusOf(spool, sender)
	return func() prometheus.Pushed { return run.PushedOf(status()) }
}

// countersFolder makes a folder in which a program leaves its counters.
func countersFolder() (string, error) {
	folder, err := os.MkdirTemp("", "proton-counters-")
	if err != nil {
		return "", fmt.Errorf("make a folder for counters: %w; set TMPDIR to a writable folder", err)
	}
	return folder, nil
}
