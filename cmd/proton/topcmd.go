package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"github.com/goproton/goproton/internal/ctl"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
)

const topLong = `top shows what the GPU does for a program that runs below proton run --ctl, or that proton attach profiles: the kernels of the last
interval by their time, how often each ran, its share of the GPU time, for how much of the interval kernels ran, and what the profiler takes
from the program if it has a budget.

  proton run --ctl --budget 1% train.py &
  proton top                  a live view; q or Ctrl-C ends it
  proton top PID              of that process, or of all below it, whose kernels are added up
  proton top --once           one interval as plain text, which is also what is printed if the output is not a terminal
  proton top --json           the same as JSON

Kernels that run at the same time count twice, so the GPU can be busy for more than 100 %.

Exit codes: 0, or
    1  there is no such process, or it does not listen or answer
    2  the command line is invalid`

type topOptions struct {
	once, asJSON bool
	interval     time.Duration
}

func newTopCommand() *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top [PID]",
		Short: "watch the kernels of a running program",
		Long:  topLong,
		Args:  between(0, 1, "give one PID, or none for all processes that can be watched"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid := 0
			if len(args) == 1 {
				var err error
				if pid, err = strconv.Atoi(args[0]); err != nil || pid < 1 {
					return usagef("read the process id %q: give a number; proton ctl lists the processes", args[0])
				}
			}
			if o.interval < 100*time.Millisecond || o.interval > time.Hour {
				return usagef("--interval %v: give a time from 100ms to 1h", o.interval)
			}
			return o.run(cmd, pid)
		},
		ValidArgsFunction: completeCtl,
	}
	cmd.Flags().BoolVar(&o.once, "once", false, "print one interval as plain text")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one interval as JSON; fields are added in later versions, never renamed")
	cmd.Flags().DurationVar(&o.interval, "interval", time.Second, "the time between two looks")
	return cmd
}

// topView is what happened in one interval, over all processes.
type topView struct {
	PIDs     []int       `json:"pids"`
	GPU      string      `json:"gpu,omitempty"`
	Seconds  float64     `json:"seconds"` // of the interval
	Busy     float64     `json:"busy"`    // GPU time as a share of the interval, of one GPU if each process has one
	Launches int64       `json:"launches"`
	Kernels  []topKernel `json:"kernels"` // by their time
	Overhead float64     `json:"overhead,omitempty"`
	Budget   float64     `json:"budget,omitempty"`
	Lost     int64       `json:"lost,omitempty"` // records, since the program began
	State    string      `json:"state"`
	Command  string      `json:"command"`
}

type topKernel struct {
	Name  string  `json:"name"`
	Count int64   `json:"count"`
	Nanos int64   `json:"ns"`
	Share float64 `json:"share"` // of the GPU time of the interval
}

// processes are those that a pid means; 0: all.
func topProcesses(pid int) ([]ctl.Entry, error) {
	all, err := ctl.List(os.Getenv)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	if pid != 0 {
		return ctl.Of(all, pid)
	}
	if len(all) == 0 {
		return nil, errors.New("no process can be watched: start the program with proton run --ctl, or watch one that runs with proton attach")
	}
	return all, nil
}

func look(entries []ctl.Entry) (answers map[int]ctl.Answer, err error) {
	answers = map[int]ctl.Answer{}
	for _, e := range entries {
		a, failed := e.Send(ctl.Kernels)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		answers[e.PID] = a
	}
	if len(answers) == 0 {
		return nil, err
	}
	return answers, nil
}

// since is what happened between two looks. A process that began a new phase meanwhile counts from the beginning of that, and one that is
// new counts from the next look on.
func since(before, now map[int]ctl.Answer) topView {
	v := topView{Kernels: []topKernel{}}
	sums := map[string]*topKernel{}
	states := map[string]int{}
	nanos, all := int64(0), int64(0)
	for _, pid := range slices.Sorted(maps.Keys(now)) {
		a := now[pid]
		b, watched := before[pid]
		if !watched {
			b = a
		}
		v.PIDs = append(v.PIDs, pid)
		v.GPU, v.Command = cmp.Or(v.GPU, a.GPU), cmp.Or(v.Command, a.Command)
		states[a.State]++
		v.Overhead, v.Budget = max(v.Overhead, a.Overhead), max(v.Budget, a.Budget)
		v.Seconds = max(v.Seconds, float64(a.At-b.At)/1e9)
		v.Lost += a.Lost
		v.Launches += grown(a.Kernels, b.Kernels)
		nanos += grown(a.Nanos, b.Nanos)
		earlier := map[string]ctl.Kernel{}
		for _, k := range b.Names {
			earlier[k.Name] = k
		}
		for _, k := range a.Names {
			count, time := grown(k.Count, earlier[k.Name].Count), grown(k.Nanos, earlier[k.Name].Nanos)
			if count == 0 && time == 0 {
				continue
			}
			if sums[k.Name] == nil {
				sums[k.Name] = &topKernel{Name: k.Name}
			}
			sums[k.Name].Count += count
			sums[k.Name].Nanos += time
			all += time
		}
	}
	for _, k := range sums {
		k.Share = float64(k.Nanos) / float64(max(all, 1))
		v.Kernels = append(v.Kernels, *k)
	}
	slices.SortFunc(v.Kernels, func(a, b topKernel) int { return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.Name, b.Name)) })
	for _, state := range slices.Sorted(maps.Keys(states)) {
		if len(states) > 1 {
			state = fmt.Sprintf("%d %s", states[state], state)
		}
		v.State = strings.TrimPrefix(v.State+", "+state, ", ")
	}
	if v.Seconds > 0 {
		v.Busy = float64(nanos) / 1e9 / v.Seconds / float64(max(len(now), 1))
	}
	return v
}

func grown(now, before int64) int64 {
	if now < before {
		return now
	}
	return now - before
}

// write prints a view in so many columns and lines; 0: as many as it takes.
func (v *topView) write(w io.Writer, columns, lines int) error {
	label, err := viewer.Labels(viewer.ShortName)
	if err != nil {
		return err
	}
	var text strings.Builder
	process := fmt.Sprintf("process %d", v.PIDs[0])
	if len(v.PIDs) > 1 {
		process = figures.Count(len(v.PIDs), "process")
	}
	fmt.Fprintf(&text, "%s, %s: %s\n", process, v.State, term.Printable(v.Command))
	fmt.Fprintf(&text, "GPU busy %s, %s in %s", figures.Share(v.Busy), figures.Count(v.Launches, "kernel"), figures.Time(int64(v.Seconds*1e9)))
	if v.GPU != "" {
		fmt.Fprintf(&text, ", %s", term.Printable(v.GPU))
	}
	if v.Budget > 0 {
		fmt.Fprintf(&text, "; overhead %.2f%% of a budget of %s", 100*v.Overhead, figures.Share(v.Budget))
	}
	if v.Lost > 0 {
		fmt.Fprintf(&text, "; %s lost", figures.Count(v.Lost, "record"))
	}
	fmt.Fprintf(&text, "\n\n%10s %10s %7s  kernel\n", "time", "count", "share")
	for _, k := range v.Kernels {
		fmt.Fprintf(&text, "%10s %10s %7s  %s\n", figures.Time(k.Nanos), figures.Grouped(k.Count), figures.Share(k.Share), term.Printable(label(k.Name)))
	}
	if len(v.Kernels) == 0 {
		text.WriteString("no kernel ended yet in this interval\n")
	}
	all := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if lines > 0 && len(all) > lines {
		all = all[:lines]
	}
	for i := range all {
		if columns > 0 {
			all[i] = term.Cut(all[i], columns)
		}
	}
	_, err = io.WriteString(w, strings.Join(all, "\n")+"\n")
	return err
}

func (o *topOptions) run(cmd *cobra.Command, pid int) error {
	entries, err := topProcesses(pid)
	if err != nil {
		return err
	}
	before, err := look(entries)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.once || o.asJSON || !term.IsTerminal(out) {
		time.Sleep(o.interval)
		now, err := look(entries)
		if err != nil {
			return err
		}
		v := since(before, now)
		if o.asJSON {
			return json.NewEncoder(out).Encode(v)
		}
		return v.write(out, term.Width(out), 0)
	}
	return o.live(term.Raw(out), pid, before)
}

// live redraws the screen until q or Ctrl-C, or until the program has ended.
func (o *topOptions) live(out io.Writer, pid int, before map[int]ctl.Answer) error {
	const alternate, normal = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(stop)
	resized := make(chan os.Signal, 1)
	notifyResized(resized)
	defer signal.Stop(resized)
	keys := make(chan byte, 1)
	if was, err := xterm.MakeRaw(int(os.Stdin.Fd())); err == nil {
		defer xterm.Restore(int(os.Stdin.Fd()), was) //nolint:errcheck // there is nothing more to do
		go func() {
			var one [1]byte
			for {
				if n, err := os.Stdin.Read(one[:]); err != nil || n == 0 {
					return
				}
				keys <- one[0]
			}
		}()
	}
	fmt.Fprint(out, alternate)
	defer fmt.Fprint(out, normal)
	v, first := since(before, before), 200*time.Millisecond
	for looked := time.Now().Add(first - o.interval); ; {
		var screen strings.Builder
		columns, lines := 80, 24
		if f, ok := out.(*os.File); ok {
			if c, l, err := xterm.GetSize(int(f.Fd())); err == nil && c > 0 && l > 0 {
				columns, lines = c, l
			}
		}
		if err := v.write(&screen, columns, lines-1); err != nil {
			return err
		}
		fmt.Fprint(out, "\x1b[H"+strings.ReplaceAll(screen.String(), "\n", "\x1b[K\r\n")+"\x1b[J")
		select {
		case <-stop:
			return nil
		case key := <-keys:
			if key == 'q' || key == 'Q' || key == 3 || key == 4 { // Ctrl-C, Ctrl-D
				return nil
			}
			continue
		case <-resized:
			continue
		case <-time.After(o.interval - time.Since(looked)):
		}
		looked = time.Now()
		entries, err := topProcesses(pid)
		if err != nil {
			return nil // it has ended
		}
		now, err := look(entries)
		if err != nil {
			return nil
		}
		v, before = since(before, now), now
	}
}
