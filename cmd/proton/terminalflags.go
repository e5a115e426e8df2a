package main

import (
	"cmp"
	"io"
	"os"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
)

// terminalFlags are the flags of commands that print for a terminal.
type terminalFlags struct {
	viewer.Terminal
	color   string
	noPager bool
}

// suit takes what the flags leave open from where the output goes, which is nil for a file.
func (f *terminalFlags) suit(out io.Writer) (err error) {
	f.ASCII = f.ASCII || term.ASCIILocale(os.Getenv)
	if out != nil {
		f.Width = cmp.Or(f.Width, term.Width(out))
	}
	f.Color, err = term.Color(f.color, out, os.Getenv)
	return err
}

// print writes to the file that a command's -o names, or to standard output: coloured, cut and, unless whole is set, paged for a terminal.
func (f *terminalFlags) print(output string, stdout io.Writer, whole bool, write func(w io.Writer) error) error {
	if output != "" && output != "-" {
		if err := f.suit(nil); err != nil {
			return err
		}
		return writeFile(output, write)
	}
	if err := f.suit(stdout); err != nil {
		return err
	}
	return term.Paged(stdout, !f.noPager && !whole, os.LookupEnv, write)
}
