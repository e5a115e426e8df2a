package pprofui

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flags is a driver.FlagSet that reports what is wrong with a command line instead of printing 120 lines, takes flags after files
// too, and has --no-open.
type flags struct {
	set    *flag.FlagSet
	args   []string
	noOpen *bool
	from   *string                    // the format of the files
	base   *[]*string                 // files to subtract
	diff   *[]*string                 // files to compare with
	ready  func(files []string) error // called with the files once all flags are known
	err    error
}

func newFlags(args []string) *flags {
	f := &flags{set: flag.NewFlagSet("pprof", flag.ContinueOnError), args: args}
	f.set.SetOutput(io.Discard)
	f.set.Usage = func() {}
	f.noOpen = f.set.Bool("no-open", false, "with -http: do not open a browser")
	f.from = f.set.String("from", "", "read files as this format instead of recognising theirs")
	return f
}

func (f *flags) Bool(name string, def bool, usage string) *bool { return f.set.Bool(name, def, usage) }

func (f *flags) Int(name string, def int, usage string) *int { return f.set.Int(name, def, usage) }

func (f *flags) Float64(name string, def float64, usage string) *float64 {
	return f.set.Float64(name, def, usage)
}

// String adds a flag. The driver's symbolizer looks for binaries and reports an error if there are none, so it is off by default: our
// frames have names already.
func (f *flags) String(name, def, usage string) *string {
	if name == "symbolize" {
		def = "none"
	}
	return f.set.String(name, def, usage)
}

// StringList collects the values of a flag that may be given several times.
func (f *flags) StringList(name, def, usage string) *[]*string {
	list := &[]*string{}
	if def != "" {
		*list = append(*list, &def)
	}
	switch name {
	case "base":
		f.base = list
	case "diff_base":
		f.diff = list
	}
	f.set.Func(name, usage, func(value string) error {
		*list = append(*list, &value)
		return nil
	})
	return list
}

// ExtraUsage and AddExtraUsage are for help texts, which this package does not print.
func (f *flags) ExtraUsage() string { return "" }

// AddExtraUsage does nothing; see ExtraUsage.
func (f *flags) AddExtraUsage(string) {}

// Parse returns the files. If it returns none the driver ends, and f.err has the reason.
func (f *flags) Parse(func()) []string {
	files, err := f.parse()
	switch {
	case err != nil:
		f.err = fmt.Errorf("%w; %w", err, ErrUsage)
	case len(files) == 0:
		f.err = fmt.Errorf("no profile is given: proton pprof [-top|-http=:0|…] FILE…; %w", ErrUsage)
	default:
		f.err = f.ready(files)
	}
	if f.err != nil {
		return nil
	}
	return files
}

// parse takes flags and files in any order, up to --.
func (f *flags) parse() (files []string, err error) {
	for rest := f.args; ; {
		if err := f.set.Parse(rest); err != nil {
			return nil, err
		}
		parsed := len(rest) - f.set.NArg()
		ended := parsed > 0 && rest[parsed-1] == "--"
		if rest = f.set.Args(); ended || len(rest) == 0 {
			return append(files, rest...), nil
		}
		files, rest = append(files, rest[0]), rest[1:]
	}
}

// given returns the value of a flag.
func (f *flags) given(name string) string {
	if known := f.set.Lookup(name); known != nil {
		return known.Value.String()
	}
	return ""
}

// report reports whether a flag asks for a report, so that neither shell nor pages are wanted. The driver's descriptions of those
// flags, and of no others, begin with these words.
func (f *flags) report() bool {
	asked := false
	f.set.Visit(func(g *flag.Flag) {
		asked = asked || strings.HasPrefix(g.Usage, "Generate a report in ") && g.Value.String() != "false"
	})
	return asked
}

// WantsHelp reports whether an error of Run is that the command line asks for help.
func WantsHelp(err error) bool { return errors.Is(err, flag.ErrHelp) }
