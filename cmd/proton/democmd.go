package main

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the recorded profile
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
)

// demoProfile is what proton run --mode pcsampling tutorials/matmul/matmul.py recorded on an NVIDIA H200, with the text of the program.
//
//go:embed demo/matmul.hatchet.gz
var demoProfile []byte

func newDemoCommand() *cobra.Command {
	noOpen := false
	cmd := &cobra.Command{
		Use:   "demo [FOLDER]",
		Short: "look at a recorded profile of an NVIDIA H200: needs no GPU",
		Long: `demo writes a recorded profile into FOLDER (proton-demo in the current folder unless it is given), and runs the commands that
one looks at a profile with: the tree, the source lines of the hottest kernel with what its warps waited for, why it is slow, and the
report, which it opens in the browser. The profile is of a matrix product in Triton and by cuBLAS, on an NVIDIA H200.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly("one folder")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "proton-demo"
			if len(args) > 0 {
				folder = args[0]
			}
			return demo(folder, !noOpen && term.IsTerminal(cmd.OutOrStdout()) && term.CanBrowse(os.Environ()), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "write the report, and do not open it")
	return cmd
}

func demo(folder string, open bool, stdout, stderr io.Writer) error {
	file, page := filepath.Join(folder, "matmul.hatchet"), filepath.Join(folder, "matmul.html")
	if err := writeDemo(folder, file); err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	report := []string{"report", file, "-o", page}
	if open {
		report = append(report, "--open")
	}
	for _, words := range [][]string{
		{"viewer", "-m", "util,tflop/s,time", "-d", "3", file},
		{"viewer", "--source", file},
		{"explain", file},
		report,
	} {
		fmt.Fprintf(stdout, "$ proton %s\n", shellWords(words))
		if err := subcommand(stdout, stderr, words...); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	}
	if !open {
		tell(stderr, "open %s in a browser", page)
	}
	return nil
}

// writeDemo unpacks the profile. A file of that name that has other contents is left alone.
func writeDemo(folder, file string) error {
	packed, err := gzip.NewReader(bytes.NewReader(demoProfile))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if there, err := os.ReadFile(file); err == nil && !bytes.Equal(there, text) {
		return fmt.Errorf("%s exists and is another file; give another folder: proton demo FOLDER", file)
	} else if err == nil {
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return writeFile(file, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// subcommand runs another command of this program, without a pager.
func subcommand(stdout, stderr io.Writer, words ...string) error {
	root := newRoot()
	root.SetOut(stdout)
	root.SetErr(stderr)
	if words[0] == "viewer" {
		words = append(words, "--no-pager")
	}
	root.SetArgs(words)
	return root.Execute()
}
