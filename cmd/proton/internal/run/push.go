package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/push"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/spool"
)

// Push is where the windows of a run go; the zero value is nowhere.
type Push struct {
	URL      string
	Protocol string // "" is found from the URL
	Every    float64
	Wait     float64  // seconds that the end waits for the server
	Service  string   // "" is the name of the target
	Labels   []string // NAME=VALUE
}

// CheckPush refuses what cannot be pushed, before the target runs.
func (o Options) CheckPush() error {
	p := o.Push
	switch {
	case p.URL == "":
		return nil
	case strings.EqualFold(o.Data, "trace"):
		return errors.New("--push needs --data tree: a timeline is a file and no profile of a window")
	case p.Every < 1:
		return fmt.Errorf("--push-every %g is too short: give at least 1 second", p.Every)
	case p.Wait < 0:
		return fmt.Errorf("--push-wait %g is negative: give seconds, or 0 for none", p.Wait)
	}
	_, err := p.labels("", os.Getenv)
	return err
}

// labels are those of all processes of the run. The job is that of the launcher, unless the user says another.
func (p Push) labels(target string, env func(string) string) (map[string]string, error) {
	labels := map[string]string{runinfo.LabelService: p.Service}
	if p.Service == "" {
		labels[runinfo.LabelService] = target
	}
	if job := launchedJob(env); job != "" {
		labels[runinfo.LabelJob] = job
	}
	for _, text := range p.Labels {
		name, value, found := strings.Cut(text, "=")
		if !found || value == "" {
			return nil, fmt.Errorf("read --push-label %q: give NAME=VALUE", text)
		}
		if err := runinfo.CheckUserLabel(name); err != nil {
			return nil, fmt.Errorf("read --push-label: %w", err)
		}
		labels[name] = value
	}
	if len(labels) > runinfo.MostLabels {
		return nil, fmt.Errorf("--push-label: %s are too many: give at most %d, because servers take 30 with their own", figures.Count(int64(len(labels)), "label"), runinfo.MostLabels)
	}
	return labels, nil
}

// launchedJob is the job that a launcher or scheduler has given this process, "" without one.
func launchedJob(env func(string) string) string {
	for _, name := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "TORCHELASTIC_RUN_ID"} {
		if id := env(name); id != "" && id != "none" { // which torchrun has without --rdzv-id
			return id
		}
	}
	return ""
}

// pushing is the sender of a run.
type pushing struct {
	sender *push.Sender
	wait   time.Duration
}

// start prepares the spool, says in the configuration what processes have to do, and begins to send.
func (p Push) start(config *runinfo.Config, target string) (*pushing, error) {
	if p.URL == "" {
		return nil, nil
	}
	to, err := push.NewTarget(p.URL, p.Protocol, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("--push: %w", err)
	}
	folder, err := to.Spool(os.Getenv)
	if err == nil {
		err = spool.Make(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("--push: %w", err)
	}
	labels, err := p.labels(target, os.Getenv)
	if err != nil {
		return nil, err
	}
	config.Push = &runinfo.Push{Spool: folder, Seconds: p.Every, Labels: labels}
	every := time.Duration(p.Every * float64(time.Second))
	s := &push.Sender{Target: to, Folder: folder, Spread: every / 2}
	s.Start()
	return &pushing{s, time.Duration(p.Wait * float64(time.Second))}, nil
}

// finish waits for the server, at most as long as the user allows or until Ctrl-C, and says what became of the windows.
func (p *pushing) finish(status string, w io.Writer) {
	if p == nil {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	sent := p.sender.Finish(ctx)
	summary, err := readSummary(status)
	if err != nil {
		return // finish says so
	}
	for _, line := range pushLines(summary.Push, sent, p.sender.Folder) {
		fmt.Fprintf(w, "proton: %s\n", line)
	}
}

// pushLines says what became of the windows: what was lost first.
func pushLines(made runinfo.PushStatus, sent push.Status, folder string) (lines []string) {
	warn := func(n int64, what, why string) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("warning: %s %s: %s", figures.Count(n, "window"), what, why))
		}
	}
	warn(made.Dropped, "could not be written", "see the warnings about windows, and make room in "+folder)
	warn(made.Evicted+sent.Evicted, "deleted before a server took them", "the spool is full: is the server away?")
	warn(sent.Refused, "refused by "+sent.Target, sent.WhyRefused)
	warn(sent.Unreadable, "of the spool damaged", sent.LastError)
	switch {
	case sent.Waiting > 0 && sent.LastError != "":
		lines = append(lines, fmt.Sprintf("warning: %s of %s not sent to %s: %s; they wait in %s for the next run with this --push, or for proton push",
			figures.Count(sent.Waiting, "window"), figures.Bytes.Text(float64(sent.WaitingBytes)), sent.Target, sent.LastError, folder))
	case sent.Waiting > 0:
		lines = append(lines, fmt.Sprintf("%s not sent yet; another process, or the next run with this --push, sends them from %s", figures.Count(sent.Waiting, "window"), folder))
	}
	if sent.Sent > 0 {
		lines = append(lines, fmt.Sprintf("pushed %s to %s", figures.Count(sent.Sent, "window"), sent.Target))
	}
	return lines
}
