package term

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// Paged runs print with a writer that leads to the user's pager if out is a terminal, and straight to out otherwise.
// The pager is $PAGER, or less with options to leave text that fits a screen alone, to keep colours, and not to clear
// the screen. PAGER=cat or an empty one is none. A reader who leaves the pager early is not an error.
func Paged(out io.Writer, wanted bool, getenv func(string) (string, bool), print func(w io.Writer) error) error {
	command, ok := pager(getenv)
	if !wanted || !ok || !IsTerminal(out) {
		return print(out)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout, cmd.Stderr = Raw(out), os.Stderr
	cmd.Env = os.Environ()
	if _, set := getenv("LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return print(out)
	}
	if err := cmd.Start(); err != nil {
		return print(out)
	}
	signal.Ignore(os.Interrupt) // the pager knows what to do with it
	defer signal.Reset(os.Interrupt)
	err = print(NewOutput(in)) // not every pager filters
	in.Close()
	cmd.Wait() //nolint:errcheck // less exits with 2 and more when it is interrupted; what matters is what was printed
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func pager(getenv func(string) (string, bool)) (command string, ok bool) {
	if command, set := getenv("PAGER"); set {
		command = strings.TrimSpace(command)
		return command, command != "" && command != "cat"
	}
	if _, err := exec.LookPath("less"); err != nil {
		return "", false
	}
	return "less", true
}
