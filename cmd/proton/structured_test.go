package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A value with options sets the same as the flags do that stood for them.
func TestOptionsOfValues(t *testing.T) {
	values := func(words ...string) string {
		cmd := newRunCommand()
		if err := cmd.ParseFlags(words); err != nil {
			return flagError(err).Error()
		}
		var all []string
		cmd.Flags().Visit(func(f *pflag.Flag) { all = append(all, f.Name+"="+f.Value.String()) })
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	for _, c := range []struct{ structured, flags string }{
		{"--trace DIR", "--trace DIR"},
		{"--trace DIR:sass", "--trace DIR --trace-sass"},
		{"--trace DIR:sass:tensor-limit=1G:launches=profiled", "--trace DIR --trace-sass --trace-tensor-limit=1G --trace-launches profiled"},
		{"--trace a:12:30/b", "--trace a:12:30/b"}, // a time in the name of a folder
		{"--trace DIR:tensors=false", "--trace DIR --trace-tensors=false"},
		{"--push http://h:4040", "--push http://h:4040"},
		{"--push http://h:4040:every=10:counters", "--push http://h:4040 --push-every 10 --push-counters"},
		{"--push http://h/a?x=y:label=at=12:30:label=b=c:service=s", "--push http://h/a?x=y --push-label at=12:30 --push-label b=c --push-service s"},
		{"--push file:///windows:wait=0.5", "--push file:///windows --push-wait 0.5"},
		{"--prometheus 127.0.0.1:9464:wait=5:scopes=3", "--prometheus 127.0.0.1:9464 --prometheus-wait 5 --prometheus-scopes 3"},
		{"--prometheus [::1]:9464:scopes=3", "--prometheus [::1]:9464 --prometheus-scopes 3"},
		{"--prometheus 0", "--prometheus 0"},
		// Older names.
		{"--metrics 127.0.0.1:9464:wait=5:scopes=3", "--prometheus 127.0.0.1:9464 --metrics-wait 5 --metrics-scopes 3"},
		{"--push http://h:4040:metrics", "--push http://h:4040 --push-metrics"},
		{"--push http://h:4040:metrics", "--push http://h:4040:counters"},
		{"--gate forward", "--within forward"},
	} {
		structured, flags := values(strings.Fields(c.structured)...), values(strings.Fields(c.flags)...)
		if structured != flags || strings.Contains(structured, "invalid") {
			t.Errorf("%s:\n%s\n%s:\n%s", c.structured, structured, c.flags, flags)
		}
	}
	for given, want := range map[string]string{
		"--trace DIR:sas":             `there is no option sas: the options are launches, compression, kernels, sass,`,
		"--trace DIR:metrics":         `there is no option metrics`,
		"--trace DIR:sass:tensor=3":   `there is no option tensor=3: the options are`,
		"--trace DIR:tensor-limit":    `the option tensor-limit has no value: write tensor-limit=…`,
		"--trace DIR:tensor-skip=x":   `read the option tensor-skip of --trace "x": give a whole number`,
		"--push http://h:4040:evry=3": `there is no option evry=3: the options are`,
		"--push http://h:every=soon":  `read the option every of --push "soon": give a number`,
	} {
		if got := values(strings.Fields(given)...); !strings.Contains(got, want) || strings.Contains(got, "strconv") {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// What is wrong with an option is said by the option's name, not by the name of the hidden flag.
func TestWrongOptionsAreNamed(t *testing.T) {
	for given, want := range map[string]string{
		"--trace DIR:launches=some":    `read the option launches of --trace "some": use all, profiled, none`,
		"--trace DIR:compression=clp":  `read the option compression of --trace "clp": use zstd, gzip, none`,
		"--trace DIR:tensor-limit=big": `the option tensor-limit of --trace: "big" is not a size`,
		"--trace DIR:tensor-quota=all": `the option tensor-quota of --trace: "all" is not a size`,
		"--trace DIR:tensor-skip=-1":   `the options tensor-skip and tensor-max of --trace are numbers of launches`,
		"--prometheus 0:wait=-1":       `the option wait=-1 of --prometheus: give 0`,
		"--push http://h:4040:every=0": `the option every=0 of --push: give 1`,
	} {
		err := quietly(newRunCommand(), &bytes.Buffer{}, append(strings.Fields(given), "--", "true")...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
}
