// Package outname turns the output name that a user gave into the path of one process's profile.
//
// A name is a template, so that ranks and hosts can have files of their own, and a path is claimed before it
// is written, so that two processes of one run never write the same file. Templates are expanded in the
// profiled process, not in "proton run": only there are rank and pid known.
package outname

import (
	"fmt"
	"strconv"
	"strings"
)

// launchers are the variables that tell a process its rank, and how many there are, the most specific first:
// torchrun, Slurm, Open MPI, MPICH and Intel MPI, and torchrun's numbers within a host.
var launchers = []struct{ rank, ranks string }{
	{"RANK", "WORLD_SIZE"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"LOCAL_RANK", "LOCAL_WORLD_SIZE"},
}

// Expand replaces what a template can hold: %h the host, %p the process id, %r the rank, %q{VAR} an
// environment variable, and %% a percent sign. Without a rank %r is 0, as in a run of one process. What a
// variable holds cannot lead to another folder: slashes in it are replaced by underscores.
func Expand(template string, env func(string) string, pid int, host string) (string, error) {
	var name strings.Builder
	for rest := template; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		name.WriteString(before)
		if !found {
			break
		}
		value, left, err := expandOne(after, env, pid, host)
		if err != nil {
			return "", fmt.Errorf("expand output name %q: %w", template, err)
		}
		name.WriteString(value)
		rest = left
	}
	return name.String(), nil
}

// expandOne expands what follows a percent sign and returns the rest of the template.
func expandOne(after string, env func(string) string, pid int, host string) (value, rest string, err error) {
	const known = "known are %h, %p, %r, %q{VAR}, and %% for a percent sign"
	if after == "" {
		return "", "", fmt.Errorf("a percent sign at the end: %s", known)
	}
	rest = after[1:]
	switch after[0] {
	case '%':
		return "%", rest, nil
	case 'h':
		return flat(host), rest, nil
	case 'p':
		return strconv.Itoa(pid), rest, nil
	case 'r':
		return flat(Rank(env)), rest, nil
	case 'q':
		variable, rest, found := strings.Cut(rest, "}")
		if !found || len(variable) < 2 || variable[0] != '{' {
			return "", "", fmt.Errorf("%%q needs a variable in braces: write %%q{VAR}")
		}
		value := env(variable[1:])
		if value == "" {
			return "", "", fmt.Errorf("the environment variable %s is empty or not set: set it, or leave %%q{%s} out", variable[1:], variable[1:])
		}
		return flat(value), rest, nil
	}
	return "", "", fmt.Errorf("%%%c is not known: %s", after[0], known)
}

// Rank returns the rank of this process as its launcher gave it, "0" without one.
func Rank(env func(string) string) string {
	for _, launcher := range launchers {
		if value := env(launcher.rank); value != "" {
			return value
		}
	}
	return "0"
}

// Ranks returns how many processes the launcher of this one started, 1 without a launcher.
func Ranks(env func(string) string) int {
	for _, launcher := range launchers {
		if env(launcher.rank) == "" {
			continue
		}
		if ranks, err := strconv.Atoi(env(launcher.ranks)); err == nil {
			return ranks
		}
	}
	return 1
}

// Launched returns this process's rank and how many there are, where a launcher started it.
func Launched(env func(string) string) (rank, ranks int, ok bool) {
	for _, launcher := range launchers {
		rank, err := strconv.Atoi(env(launcher.rank))
		if err != nil {
			continue
		}
		if ranks, err := strconv.Atoi(env(launcher.ranks)); err == nil && ranks > 0 {
			return rank, ranks, true
		}
	}
	return 0, 0, false
}

// Check says whether a template can be expanded anywhere: everything but the values of variables.
func Check(template string) error {
	_, err := Expand(template, func(string) string { return "x" }, 1, "host")
	return err
}

func flat(value string) string {
	return strings.ReplaceAll(value, "/", "_")
}
