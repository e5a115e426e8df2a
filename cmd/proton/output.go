package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
)

// Usage texts of flags that several commands have.
const (
	widthUsage   = "cut names so that lines have `N` columns (default: the terminal's width; without a terminal, names are not cut)"
	peakUsage    = "set `PEAKS` of the GPU for the roofline: flops16=990T,bytes=4.8T; or the type of flops: flops32=fp32"
	noPagerUsage = "do not use $PAGER or less on a terminal"
)

// registerWidth adds the flag for the width of lines.
func registerWidth(flags *pflag.FlagSet, width *int, usage string) {
	flags.Var((*columns)(width), "width", usage)
}

// registerColor adds the flag for colours, with its words for the shell.
func registerColor(cmd *cobra.Command, when *string) {
	cmd.Flags().StringVar(when, "color", "auto", "use colours `WHEN`: "+term.ColorModes+"; auto respects NO_COLOR")
	choices(cmd, "color", term.ColorWords...)
}

// columns is a number of columns: a flag whose value is 0 or more.
type columns int

func (c *columns) String() string { return strconv.Itoa(int(*c)) }

// Type is what flagError knows a value of 0 or more by.
func (c *columns) Type() string { return "uint" }

func (c *columns) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	*c = columns(n)
	return err
}

// leastFlag is a threshold.
type leastFlag struct{ figures.Least }

// Type is what flagError knows a threshold by.
func (l *leastFlag) Type() string { return "least" }

func (l *leastFlag) Set(text string) (err error) {
	var ok bool
	if l.Least, ok = figures.ParseLeast(text); !ok {
		err = errors.New("not an amount")
	}
	return err
}

// registerForce adds the flag that permits replacing a file. It has no short form, because -f is the format of names in
// viewer and diff.
func registerForce(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "replace OUT if it exists")
}

// mayWrite refuses to replace a file without --force: a second `proton merge *.hatchet -o all.hatchet` would count
// everything twice, and a swapped -o would destroy a profile. Devices and pipes may be written to.
func mayWrite(path string, force bool) error {
	if path == "" || path == "-" || force {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return fmt.Errorf("%s exists; give --force to replace it, or another name", path)
	}
	return nil
}

// writeOutput calls write with a command's -o file, or with standard output for "" and "-".
func writeOutput(path string, stdout io.Writer, write func(w io.Writer) error) error {
	if path == "" || path == "-" {
		return write(stdout)
	}
	return writeFile(path, write)
}

// writeFile replaces a file in one step. It leaves no incomplete file if write fails, the disk is full or a signal ends the
// process.
func writeFile(path string, write func(w io.Writer) error) error {
	defer whenInterrupted(ownfile.Abandon)()
	return ownfile.Replace(path, write)
}

// writeProfile writes a profile as writeFile does, or to standard output for "-", without escaping, because it is data.
func writeProfile(target formats.Target, path string, p *profile.Profile, stdout io.Writer) error {
	return writeOutput(path, term.Raw(stdout), func(w io.Writer) error { return target.Write(w, p) })
}

// toUser is standard error for code that has no writer.
func toUser() io.Writer { return term.NewMessages(os.Stderr) }

// tell prints a message. All begin in the same way, whatever the subcommand.
func tell(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "proton: "+format+"\n", args...)
}

// tellEach prints messages.
func tellEach(stderr io.Writer, texts []string) {
	for _, text := range texts {
		tell(stderr, "%s", text)
	}
}

// cannotWrite is the error for an output that cannot be created, without the name of its temporary file.
func cannotWrite(path string, err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		err = at.Err
	}
	return fmt.Errorf("write %s: %w; give another place with -o", path, err)
}

// checkFrames checks the flags about frames that several commands share, before anything is read.
func checkFrames(include, exclude, format string) error {
	for _, f := range []struct{ flag, pattern string }{{"include", include}, {"exclude", exclude}} {
		if _, err := regexp.Compile(f.pattern); err != nil {
			return fmt.Errorf("read --%s %q: %w; write a regular expression such as 'gemm|matmul' (Go syntax, no look-around)", f.flag, f.pattern, err)
		}
	}
	if format != "" && !slices.Contains(viewer.NameFormats, viewer.NameFormat(format)) {
		return fmt.Errorf("read --format %q: use %s", format, strings.Join(formatNames(), ", "))
	}
	return nil
}
