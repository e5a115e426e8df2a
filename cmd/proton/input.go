package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// fromFlag is --from of the commands that read profiles: the format of all that they read, nil for any.
type fromFlag struct {
	*formats.Format
	hint string // on what else was meant
}

// register adds the flag to a command.
func (f *fromFlag) register(cmd *cobra.Command) {
	cmd.Flags().Var(f, "from", "read files as `FORMAT` instead of recognising their format")
	choices(cmd, "from", formatChoices()...)
}

// Set is called with what follows the flag.
func (f *fromFlag) Set(name string) (err error) {
	if f.Format, err = formats.ByName(name); err != nil {
		err = fmt.Errorf("%w%s", err, f.hint)
	}
	return err
}

// String is the value for pflag.
func (f *fromFlag) String() string {
	if f.Format == nil {
		return ""
	}
	return f.Name
}

// Type is for pflag.
func (*fromFlag) Type() string { return "format" }

// openTrace reads a trace after completing it for killed processes.
func openTrace(source string) (*tritonparse.Trace, error) {
	completeTraces(toUser(), source)
	t, err := tritonparse.Open(source, tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", source, err)
	}
	return t, nil
}

// parts finds the parts of the installation, and the executable that they belong to.
func parts() (layout run.Layout, executable string, err error) {
	if executable, err = os.Executable(); err != nil {
		return layout, "", fmt.Errorf("find the parts of proton: %w", err)
	}
	return run.FindLayout(executable, os.Getenv), executable, nil
}

// readProfile reads a file, or standard input for "-".
func readProfile(file string, stdin io.Reader, from fromFlag) (*profile.Profile, error) {
	p, err := readSilently(file, stdin, from)
	if err == nil {
		warnIncomplete(file, p)
	}
	return p, err
}

// readSilently is readProfile without warnings, which several files that are read at once would mix up.
func readSilently(file string, stdin io.Reader, from fromFlag) (*profile.Profile, error) {
	if file != "-" {
		p, err := formats.ReadFileAs(file, from.Format)
		if err != nil && formats.NotThere(err) {
			return nil, fmt.Errorf("%w; give a profile, for example the .hatchet file that proton run writes", err)
		}
		return p, err
	}
	p, err := formats.ReadAs(stdin, from.Format)
	if err != nil {
		return nil, fmt.Errorf("read profile from standard input: %w; pipe a profile into this command", err)
	}
	return p, nil
}

// warnIncomplete reports on standard error that the profile is incomplete, or is not of a GPU.
func warnIncomplete(file string, p *profile.Profile) {
	if file == "-" {
		file = "standard input"
	}
	if newer := version.Newer(p.Info[profile.InfoTool]); newer != "" {
		tell(toUser(), "%s: %s; what this one does not know is left out", file, newer)
	}
	for _, about := range []string{profile.InfoSynthetic, profile.InfoNote, profile.InfoIncomplete, profile.InfoEstimated, profile.InfoSampled, profile.InfoThinned} {
		if p.Info[about] != "" {
			tell(toUser(), "%s: %s", file, p.Info[about])
		}
	}
}

// endingSignals receives the signals that would end the command.
func endingSignals() chan os.Signal {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup
			signal.Notify(signals, s)
		}
	}
	return signals
}

// whenInterrupted removes incomplete output when a signal ends the process, until done is called. The process still ends by
// the signal, as its caller expects.
func whenInterrupted(remove func()) (done func()) {
	signals := endingSignals()
	go func() {
		if s, ok := <-signals; ok {
			remove()
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(s) != nil { // Windows has no signals to send
				os.Exit(1)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// fillsFolder is whenInterrupted for commands that write to a nearby.Folder.
func fillsFolder() (done func()) { return whenInterrupted(func() { nearby.Abandon() }) }
