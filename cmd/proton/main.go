// Command proton profiles GPU programs and reads the profiles.
//
// This package has only wiring: the file of a subcommand turns flags into values, calls a package that does the work, and maps
// its error to an exit code. It is built without cgo, so that one static file runs anywhere.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == run.ContinuerArg {
		os.Exit(run.Continue(os.Args[2]))
	}
	collectLess()
	log.SetOutput(io.Discard) // net/http repeats there what a server sends
	os.Exit(execute(os.Args, os.Stderr))
}

// collectLess lets the heap grow to five times the live data before the garbage collector runs, unless GOGC is set. A
// command reads a file, prints and ends, so nearly all that it allocates stays alive. The tree of a million frames takes 2.1
// instead of 2.9 s (two busy cores), that of 20,000 takes 47 instead of 61 ms, and neither takes more memory. Above largeHeap
// the collector runs as in any Go program: a file that takes a gigabyte must not take five.
func collectLess() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(400)
	procstat.AfterCollection(func(live uint64) (again bool) {
		if live >= largeHeap {
			debug.SetGCPercent(100)
		}
		return live < largeHeap
	})
}

const largeHeap = 512 << 20

// collectAsUsual reverts collectLess for a command that lives as long as the program that it runs, and shares the machine's memory with it.
func collectAsUsual() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100)
	giveBack := procstat.GiveBack()
	procstat.AfterCollection(func(uint64) (again bool) {
		giveBack()
		return true
	})
}

// commands are the subcommands, in the order of the help text.
func commands() []*cobra.Command {
	return []*cobra.Command{
		newRunCommand(), newInterpretCommand(), newViewerCommand(), newExplainCommand(), newReportCommand(), newDiffCommand(), newMergeCommand(), newQueryCommand(), newGateCommand(), newPprofCommand(),
		newConvertCommand(), newTraceCommand(), newReproduceCommand(), newAttachCommand(), newCtlCommand(), newTopCommand(), newPushCommand(), newMetricsCommand(), newDoctorCommand(), newDemoCommand(), newMCPCommand(), newManCommand(),
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "proton",
		Short: "profile GPU programs and read the profiles",
		Long: `proton profiles Triton, PyTorch and CUDA programs and reads the profiles.

  proton run script.py                          profile a program, write script.hatchet
  proton viewer -m util,tflop/s script.hatchet  print the tree
  proton explain script.hatchet                 say why it is slow, and what to do next
  proton report --open script.hatchet           explore it in the browser
  proton diff before.hatchet after.hatchet      show what changed
  proton doctor                                 report what is missing on this machine
  proton demo                                   look at a recorded profile; needs no GPU

"proton [flags] script.py" is short for "proton run [flags] script.py".`,
		Version:       version.Text(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage(unknownCommand(cmd, args[0]))
		},
	}
	useFlagSections(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w%s; see %s --help", unknownFlag(cmd, flagError(err)), tookTarget(cmd.Flags()), cmd.CommandPath())
	})
	root.PersistentFlags().BoolFunc(inflate.Flag, "read compressed files that unpack to more than 8 MiB and more than 256 times their size", allowHighCompression)
	root.AddCommand(commands()...)
	addHelpAll(root)
	root.SetHelpFunc(help(root.HelpFunc()))
	root.SetHelpCommand(helpCommand())
	return root
}

// help prints the help of a command. "proton foo --help" is an error, not a request for the help of proton.
func help(standard func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		for _, word := range args {
			if word != "" && word[0] != '-' && !cmd.HasParent() {
				tell(cmd.ErrOrStderr(), "%v", unknownCommand(cmd, word))
				os.Exit(2)
			}
		}
		out := cmd.OutOrStdout()
		var text strings.Builder
		cmd.SetOut(&text)
		if all := cmd.Flags().Lookup(helpAll); isBrief(cmd) && !all.Changed {
			text.WriteString(briefHelp(cmd))
		} else {
			standard(cmd, args)
		}
		fmt.Fprint(out, term.Fit(text.String(), term.Width(out)))
	}
}

// helpCommand is cobra's "help COMMAND", and refuses unknown commands.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "print the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(unknownCommand(about, rest[0]))
			}
			return about.Help()
		},
	}
}

// allowHighCompression is the flag that lifts the limit of package inflate.
func allowHighCompression(given string) error {
	yes, err := strconv.ParseBool(given)
	if yes {
		inflate.AllowAnyRatio()
	}
	return err
}

const noLimit = math.MaxInt

// between refuses other numbers of arguments. The message says what to give; %d in it is how many there are.
func between(least, most int, message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage(errors.New(strings.ReplaceAll(message, "%d", strconv.Itoa(len(args)))))
		}
		return nil
	}
}

// exactly refuses another number of arguments than one; it is of a kind, as in "a URL".
func exactly(one string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("give %s; see %s --help", one, cmd.CommandPath())
		case 1:
			return nil
		}
		return usagef("give %s alone, and not %s; see %s --help", one, strings.Join(args, " "), cmd.CommandPath())
	}
}

// execute runs one command line and returns the exit code: 0, the code of an exitError, 2 for an invalid command line, 1 for
// every other error.
func execute(argv []string, stderr io.Writer) int {
	root := newRoot()
	stderr = term.NewMessages(stderr)
	root.SetOut(term.NewOutput(os.Stdout))
	root.SetErr(stderr)
	root.SetArgs(spellOutDiff(expandShortForms(root, argv)))
	err := root.Execute()
	if err == nil {
		return 0
	}
	if exit, is := errors.AsType[*exitError](err); is {
		if exit.err != nil {
			tell(stderr, "%v", exit.err)
		}
		return exit.code
	}
	tell(stderr, "%v", err)
	if errors.As(err, new(*viewer.OptionError)) {
		return 2
	}
	return 1
}

// flagError names the kind of value that a flag takes if it was given another.
func flagError(err error) error {
	invalid, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	kinds := map[string]string{"int": "a whole number", "int64": "a whole number", "uint": "a whole number, 0 or more", "uint64": "a whole number, 0 or more", "float64": "a number", "least": "a share such as 5%, a time such as 1ms, or a number in the unit of the first metric", "intSlice": "whole numbers, with commas between them", "bool": "true or false", "boolfunc": "true or false"}
	flag := invalid.GetFlag()
	kind := kinds[flag.Value.Type()]
	if kind == "" {
		return fmt.Errorf("read --%s %q: %w", flag.Name, invalid.GetValue(), invalid.Unwrap())
	}
	return fmt.Errorf("read --%s %q: give %s", flag.Name, invalid.GetValue(), kind)
}

// hasFlag says whether a command has the flag that a word begins with.
func hasFlag(cmd *cobra.Command, word string) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		return cmd.Flags().Lookup(name) != nil
	}
	return len(word) > 1 && cmd.Flags().ShorthandLookup(word[1:2]) != nil
}

// unknownFlag adds to the error for an unknown flag which one was perhaps meant.
func unknownFlag(cmd *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return err
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	if meant := flags.SuggestionsFor(unknown.GetSpecifiedName()); len(unknown.GetSpecifiedName()) > 1 && len(meant) > 0 {
		return fmt.Errorf("%w; did you mean --%s?", err, meant[0])
	}
	return err
}

// unknownCommand is the error for a word where a subcommand of parent should be.
func unknownCommand(parent *cobra.Command, word string) error {
	what := "command"
	if !parent.HasParent() {
		what = "command or file" // what could be run
	}
	parent.SuggestionsMinimumDistance = min(2, max(1, len(word)/2)) // of three letters, two others are another word
	if !parent.HasParent() && formats.ByPath(word) != nil {
		if err := isProfile(word); err != nil {
			return err
		}
		return fmt.Errorf("there is no file %s; to read a profile, write: proton viewer FILE", word)
	}
	if meant := parent.SuggestionsFor(word); len(meant) > 0 {
		return fmt.Errorf("there is no %s %q; did you mean: %s %s", what, word, parent.CommandPath(), meant[0])
	}
	return fmt.Errorf("there is no %s %q; see %s --help", what, word, parent.CommandPath())
}

// isProfile is the error for a profile where something to run should be, nil for other files.
func isProfile(path string) error {
	if _, err := os.Stat(path); err != nil || formats.ByPath(path) == nil {
		return nil
	}
	return fmt.Errorf("%s is a profile: to read it, write: proton viewer %s", path, path)
}

// exitError sets the exit code. Without err nothing is printed, because the command has printed its message.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage makes an error that of an invalid command line; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: 2, err: err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// expandShortForms expands the two short forms: this program under the name proton-viewer, which is that of Triton's viewer, and
// a script in the place of a subcommand.
func expandShortForms(root *cobra.Command, argv []string) []string {
	args := argv[1:]
	if filepath.Base(argv[0]) == "proton-viewer" {
		return append([]string{"viewer", "--compat"}, args...)
	}
	if len(args) == 1 && (args[0] == "version" || args[0] == "-V") {
		return []string{"--version"}
	}
	if len(args) == 1 && args[0] == "--"+helpAll {
		return []string{"--help"}
	}
	if isUpstreamForm(root, args) {
		return append([]string{"run"}, args...)
	}
	return args
}

// isUpstreamForm says whether args are "[flags of run] target…" rather than "subcommand …". A first word
// that is neither a subcommand nor a possible target is left to cobra, which suggests the intended
// subcommand.
func isUpstreamForm(root *cobra.Command, args []string) bool {
	run, _, err := root.Find([]string{"run"})
	if err != nil || run == root || len(args) == 0 {
		return false
	}
	if args[0] == "--" {
		return true
	}
	if args[0] != "" && args[0][0] == '-' {
		return hasFlag(run, args[0])
	}
	if slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0]) {
		return false // cobra adds these when it executes
	}
	for _, c := range root.Commands() {
		if c.Name() == args[0] || c.HasAlias(args[0]) {
			return false
		}
	}
	if filepath.Ext(args[0]) == ".py" || filepath.Base(args[0]) == "pytest" {
		return true
	}
	info, err := os.Stat(args[0])
	return err == nil && info.Mode().IsRegular() && formats.ByPath(args[0]) == nil
}
