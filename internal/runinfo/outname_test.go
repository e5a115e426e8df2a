package runinfo

import (
	"maps"
	"testing"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"RANK": "3", "LOCAL_RANK": "1", "JOB": "a/b", "EMPTY": ""}
	cases := []struct{ template, want string }{
		{"out", "out"},
		{"", ""},
		{"/tmp/%h-%p-%r", "/tmp/node1.cluster-42-3"},
		{"%q{JOB}/x%%", "a_b/x%"},
		{"%r%r", "33"},
		{"100%", `error: expand output name "100%": a percent sign at the end: known are %h, %p, %r, %q{VAR}, and %% for a percent sign`},
		{"%d", `error: expand output name "%d": %d is not known: known are %h, %p, %r, %q{VAR}, and %% for a percent sign`},
		{"%q", `error: expand output name "%q": %q needs a variable in braces: write %q{VAR}`},
		{"%q{", `error: expand output name "%q{": %q needs a variable in braces: write %q{VAR}`},
		{"%q{}", `error: expand output name "%q{}": %q needs a variable in braces: write %q{VAR}`},
		{"%q{EMPTY}", `error: expand output name "%q{EMPTY}": the environment variable EMPTY is empty or not set: set it, or leave %q{EMPTY} out`},
	}
	for _, c := range cases {
		got, err := ExpandName(c.template, process(env), func(name string) string { return env[name] })
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.template, got, c.want)
		}
	}
}

func process(env map[string]string) Process {
	return Process{LaunchedBy(func(name string) string { return env[name] }), 42, "node1.cluster"}
}

// The names of a launcher's processes, and of those that have no rank.
func TestNames(t *testing.T) {
	torchrun := map[string]string{"RANK": "3", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}
	with := func(more ...string) map[string]string {
		env := maps.Clone(torchrun)
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	for _, c := range []struct {
		template string
		env      map[string]string
		want     string
	}{
		{"out", nil, "out"},
		{"out", torchrun, "out.rank3"},
		{"a/out", with("LOCAL_WORLD_SIZE", "4"), "a/out.rank3.node1"},
		{"a/out", with("GROUP_WORLD_SIZE", "2"), "a/out.rank3.node1"},
		{"%h/out", with("GROUP_WORLD_SIZE", "2"), "node1.cluster/out.rank3"},
		{"out", with("TORCHELASTIC_RESTART_COUNT", "2"), "out.rank3.restart2"},
		{"out", with("GROUP_WORLD_SIZE", "2", "TORCHELASTIC_RESTART_COUNT", "1"), "out.rank3.node1.restart1"},
		{"out", with("TORCHELASTIC_RESTART_COUNT", "2", "SLURM_JOB_ID", "71", "SLURM_RESTART_COUNT", "1"), "out.rank3.requeue1.restart2"},
		{"out", map[string]string{"SLURM_JOB_ID": "71", "SLURM_RESTART_COUNT": "1"}, "out.requeue1"},
		{"out", with("RANK", "0", "WORLD_SIZE", "1", "LOCAL_WORLD_SIZE", "1"), "out"},
		{"out", with("RANK", "8"), "out.pid42"},
		{"out", with("RANK", "-1"), "out.pid42"},
		{"out", with("RANK", "three", "GROUP_WORLD_SIZE", "2"), "out.pid42.node1"},
		{"out", map[string]string{"JOB_COMPLETION_INDEX": "5"}, "out.rank5.node1"},
		{"out", map[string]string{"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, "out.rank1.node1"},
		{"out%r", torchrun, "out3"},
		{"out%r", with("RANK", "8"), "outpid42"},
		{"out%%r", torchrun, "out%r.rank3"},
		{"x%p", torchrun, "x42"},
		{"%q{RANK}", torchrun, "3"},
		{"-", torchrun, "-"},
		{"", torchrun, ""},
	} {
		got, err := OutName(c.template, process(c.env), func(name string) string { return c.env[name] })
		if err != nil || got != c.want {
			t.Errorf("%q with %v: got %q (%v), want %q", c.template, c.env, got, err, c.want)
		}
	}
	if _, err := OutName("%z", Process{}, func(string) string { return "" }); err == nil {
		t.Error("%z passes")
	}
}

func TestCheckKnowsNoVariables(t *testing.T) {
	if err := CheckName("a-%q{NOT_SET_HERE}-%r"); err != nil {
		t.Errorf("a template with a variable: %v", err)
	}
	if CheckName("%z") == nil {
		t.Error("%z passes")
	}
}
