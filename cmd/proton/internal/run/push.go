package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
)

// Push is where the windows of a run go; the zero value is nowhere.
type Push struct {
	URL      string
	Protocol string // "" is found from the URL
	Every    float64
	Wait     float64  // seconds that the end waits for the server
	Service  string   // "" is the name of the target
	Labels   []string // NAME=VALUE
	Metrics  bool     // counters are sent too
}

// In seconds. What is longer would not be a push, and would overflow a time.Duration in the end.
const (
	longestWindow = 24 * 60 * 60
	longestWait   = 365 * 24 * 60 * 60
)

// FillFrom takes from the environment what no flag has set.
func (p *Push) FillFrom(env settings.Env, given func(flag string) bool) error {
	if p.URL == "" {
		return nil
	}
	for _, f := range []struct {
		flag  string
		value *float64
		from  *settings.Setting
	}{{"push-every", &p.Every, settings.PushEvery}, {"push-wait", &p.Wait, settings.PushWait}} {
		text := f.from.Get(env)
		if text == "" || given(f.flag) {
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("read %s=%q: give seconds", f.from.Name, text)
		}
		*f.value = seconds
	}
	if !given("push-service") {
		p.Service = settings.PushService.Get(env)
	}
	if !given("push-counters") {
		p.Metrics = settings.PushMetrics.On(env)
	}
	if text := settings.PushLabels.Get(env); text != "" {
		p.Labels = append(strings.Split(text, ","), p.Labels...) // later ones replace earlier ones
	}
	return nil
}

// CheckPush refuses what cannot be pushed, before the target runs.
func (o Options) CheckPush() error {
	p := o.Push
	switch {
	case p.URL == "" && p.Metrics:
		return errors.New("the option counters needs --push with the URL of an OpenTelemetry collector: write --push otlp+http://localhost:4318:counters")
	case p.URL == "":
		return nil
	case strings.EqualFold(o.Data, "trace"):
		return errors.New("--push needs --data tree: a timeline is a file and no profile of a window")
	case !(p.Every >= 1 && p.Every <= longestWindow): // false for NaN
		return fmt.Errorf("the option every=%g of --push: give 1 to %d seconds", p.Every, longestWindow)
	case !(p.Wait >= 0 && p.Wait <= longestWait):
		return fmt.Errorf("the option wait=%g of --push: give 0 to %d seconds", p.Wait, longestWait)
	}
	if _, err := p.labels(""); err != nil {
		return err
	}
	_, err := p.target()
	return err
}

// target reads the URL.
func (p Push) target() (*push.Target, error) {
	to, err := push.NewTarget(p.URL, p.Protocol, os.Getenv)
	if err == nil && p.Metrics {
		err = to.CheckCounters()
	}
	if err != nil {
		return nil, fmt.Errorf("--push: %w", err)
	}
	return to, nil
}

// labels are those of all processes of the run. Each adds its own.
func (p Push) labels(target string) (map[string]string, error) {
	labels := map[string]string{runinfo.LabelService: p.Service}
	if p.Service == "" {
		labels[runinfo.LabelService] = target
	}
	for _, text := range p.Labels {
		name, value, found := strings.Cut(text, "=")
		if !found || value == "" {
			return nil, fmt.Errorf("read the label %q of --push or PROTON_PUSH_LABELS: give NAME=VALUE", text)
		}
		labels[name] = value
	}
	if err := runinfo.CheckLabels(labels); err != nil {
		return nil, fmt.Errorf("read the labels of --push: %w", err)
	}
	return labels, nil
}

// pushing is the sender of a run.
type pushing struct {
	sender   *push.Sender
	wait     time.Duration
	counters *push.Counters // nil: none are sent
}

// pushesCounters reports whether counters are to be sent.
func (p *pushing) pushesCounters() bool { return p != nil && p.counters != nil }

// start prepares the spool, says in the configuration what processes have to do, and begins to send.
func (p Push) start(config *runinfo.Config, target string, stderr io.Writer) (*pushing, error) {
	if p.URL == "" {
		return nil, nil
	}
	to, err := p.target()
	if err != nil {
		return nil, err
	}
	folder, err := to.Spool(os.Getenv)
	if err == nil {
		err = spool.Make(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("--push: %w", err)
	}
	labels, err := p.labels(target)
	if err != nil {
		return nil, err
	}
	config.Push = &runinfo.Push{Spool: folder, Seconds: p.Every, Labels: labels}
	if why := to.Away(); why != "" {
		fmt.Fprintf(stderr, "proton: warning: --push %s: %s; until then windows wait in %s\n", to, why, folder)
	}
	every := Seconds(p.Every)
	s := &push.Sender{Target: to, Folder: folder, Spread: true}
	s.Start()
	started := &pushing{sender: s, wait: Seconds(p.Wait)}
	if p.Metrics {
		started.counters = &push.Counters{Sender: s, Every: every}
	}
	return started, nil
}

// finish waits for the server, at most as long as the user allows or until Ctrl-C, and says what became of the windows.
func (p *pushing) finish(status string, w io.Writer) {
	if p == nil {
		return
	}
	ctx, cancel := UntilInterrupt(p.wait)
	defer cancel()
	sent := FinishPush(ctx, p.sender, p.counters)
	summary, err := readSummary(status)
	if err != nil {
		return // finish says so
	}
	for _, line := range append(lostLines(summary.Push, p.sender.Folder), PushLines(sent, p.sender.Folder)...) {
		fmt.Fprintf(w, "proton: %s\n", line)
	}
}

// FinishPush sends what is left of windows and of counters, which may be nil, at the same time: neither waits for the other.
func FinishPush(ctx context.Context, s *push.Sender, c *push.Counters) push.Status {
	var last sync.WaitGroup
	if c != nil {
		last.Go(func() { c.Finish(ctx) })
	}
	s.Finish(ctx)
	last.Wait()
	return s.Status()
}

// UntilInterrupt returns a context that ends after a time, or with Ctrl-C.
func UntilInterrupt(wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, wait)
	return ctx, func() { cancel(); stop() }
}

// Seconds is a number of seconds as a time.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// warned appends a warning about n windows, if there are any.
func warned(lines []string, n int64, what, why string) []string {
	if n == 0 {
		return lines
	}
	return append(lines, fmt.Sprintf("warning: %s %s: %s", figures.Plural(n, "window was", "windows were"), what, why))
}

const spoolIsFull = "the spool is full, because the server is away or slow"

// lostLines says which windows did not stay in the spool.
func lostLines(made runinfo.PushStatus, folder string) (lines []string) {
	lines = warned(nil, made.Dropped, "not written", "make room in "+folder+"; the profile has their work")
	return warned(lines, made.Evicted, "deleted before they were sent", spoolIsFull)
}

// PushLines says what a sender did with the windows of a spool: what was lost first.
func PushLines(sent push.Status, folder string) (lines []string) {
	lines = warned(nil, sent.Evicted, "deleted before they were sent", spoolIsFull)
	lines = warned(lines, sent.Refused, "refused by "+sent.Target, sent.WhyRefused)
	lines = warned(lines, sent.Unreadable, "not sent", sent.WhyUnreadable)
	switch {
	case sent.Waiting > 0 && sent.LastError != "":
		lines = append(lines, fmt.Sprintf("warning: %s not sent to %s: %s; what waits in %s (%s) is sent by the next run with this --push, or by proton push",
			figures.Plural(sent.Waiting, "window was", "windows were"), sent.Target, sent.LastError, folder, figures.Bytes.Text(float64(sent.WaitingBytes))))
	case sent.Waiting > 0:
		lines = append(lines, fmt.Sprintf("%s not sent yet; another process that has begun to send from %s goes on, or the next run with this --push", figures.Plural(sent.Waiting, "window is", "windows are"), folder))
	}
	if sent.LastCountersError != "" {
		lines = append(lines, fmt.Sprintf("warning: the last counters were not sent to %s: %s", sent.Target, sent.LastCountersError))
	}
	if sent.Sent > 0 {
		lines = append(lines, fmt.Sprintf("pushed %s to %s", figures.Count(sent.Sent, "window"), sent.Target))
	}
	return lines
}
