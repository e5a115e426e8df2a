package runinfo

import (
	"fmt"
	"strconv"
	"strings"
)

// Process is what a name depends on.
type Process struct {
	Launched
	PID  int
	Host string
}

// OutName returns the path of a process's profile, without suffix. The process of a launcher gets its rank in the name unless the
// template has a field that differs between the processes of a host: NAME.rank3, NAME.rank3.node7 where several hosts take part,
// NAME.rank3.restart1 when the launcher has started the rank again, NAME.requeue1 when the scheduler has started the job again, and NAME.pid<P> if its rank cannot be used.
func OutName(template string, p Process, env func(string) string) (string, error) {
	name, err := ExpandName(template, p, env)
	if err != nil || name == "" || name == "-" || differsByProcess(template) {
		return name, err
	}
	switch {
	case p.Problem != "":
		name += ".pid" + strconv.Itoa(p.PID)
	case p.Ranked():
		name += ".rank" + strconv.Itoa(p.Rank)
	default:
		return name + again("requeue", p.Requeue), nil
	}
	if p.Hosts && !strings.Contains(fields(template), "%h") {
		name += "." + flat(HostName(p.Host))
	}
	return name + again("requeue", p.Requeue) + again("restart", p.Restart), nil
}

// again is what the name of a process has that was started n times before.
func again(how string, n int) string {
	if n == 0 {
		return ""
	}
	return "." + how + strconv.Itoa(n)
}

// differsByProcess reports whether a template has a field that differs between the processes of a host.
func differsByProcess(template string) bool {
	f := fields(template)
	return strings.Contains(f, "%p") || strings.Contains(f, "%r") || strings.Contains(f, "%q")
}

// fields is a template without its percent signs that stand for themselves.
func fields(template string) string { return strings.ReplaceAll(template, "%%", "") }

// ExpandName replaces what a template can hold: %h the host, %p the process id, %r the rank, %q{VAR} an
// environment variable, and %% a percent sign. Without a rank %r is 0, as in a run of one process. What a
// variable holds cannot lead to another folder: slashes in it are replaced by underscores.
func ExpandName(template string, p Process, env func(string) string) (string, error) {
	var name strings.Builder
	for rest := template; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		name.WriteString(before)
		if !found {
			break
		}
		value, left, err := expandOne(after, p, env)
		if err != nil {
			return "", fmt.Errorf("expand output name %q: %w", template, err)
		}
		name.WriteString(value)
		rest = left
	}
	return name.String(), nil
}

// expandOne expands what follows a percent sign and returns the rest of the template.
func expandOne(after string, p Process, env func(string) string) (value, rest string, err error) {
	const known = "known are %h, %p, %r, %q{VAR}, and %% for a percent sign"
	if after == "" {
		return "", "", fmt.Errorf("a percent sign at the end: %s", known)
	}
	rest = after[1:]
	switch after[0] {
	case '%':
		return "%", rest, nil
	case 'h':
		return flat(p.Host), rest, nil
	case 'p':
		return strconv.Itoa(p.PID), rest, nil
	case 'r':
		return p.Text(p.PID), rest, nil
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

// CheckName says whether a template can be expanded anywhere: everything but the values of variables.
func CheckName(template string) error {
	_, err := ExpandName(template, Process{PID: 1, Host: "host"}, func(string) string { return "x" })
	return err
}

func flat(value string) string {
	return strings.ReplaceAll(value, "/", "_")
}
