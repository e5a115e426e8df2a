// Package settings is the one table of environment variables: their names, types, defaults and readers. Go reads them through
// it, docs/environment.md is written from it, and tests compare it with the readers in C and Python.
package settings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is an environment variable.
type Setting struct {
	Name    string
	Type    string // as the page has it: "switch", "seconds", "file" and so on; switches and seconds are parsed here
	Default string // "0" or "1" of a switch, a number of seconds, else words for the page; "" is none
	Readers string // any of "C Go Python"
	Text    string // one or two sentences
}

// Env looks up a variable: os.Getenv, or environ.Get for variables that other libraries may set in C.
type Env func(name string) string

// Get returns the variable's text, "" if it is not set.
func (s *Setting) Get(env Env) string { return env(s.Name) }

// On reads a switch. Any other word means the default.
func (s *Setting) On(env Env) bool {
	text := strings.ToLower(env(s.Name))
	switch {
	case slices.Contains([]string{"1", "true", "on", "yes", "y"}, text):
		return true
	case slices.Contains([]string{"0", "false", "off", "no", "n"}, text):
		return false
	}
	return s.Default == "1"
}

// Seconds reads a time, which may be "inf". A text that is not a time, or a negative one, means the default.
func (s *Setting) Seconds(env Env) time.Duration {
	seconds, err := strconv.ParseFloat(env(s.Name), 64)
	if err != nil || seconds < 0 || seconds != seconds {
		seconds, _ = strconv.ParseFloat(s.Default, 64) //nolint:errcheck // a test reads all defaults
	}
	if seconds > math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(seconds * float64(time.Second))
}

// Size parses a number of bytes, with K, M, G or T for powers of 1,024: "512M", "10GiB". ok is false for other texts.
func Size(text string) (bytes int64, ok bool) {
	number, unit := strings.TrimSuffix(strings.ToUpper(text), "B"), int64(1)
	for i, suffix := range []string{"K", "M", "G", "T"} {
		if before, found := strings.CutSuffix(strings.TrimSuffix(number, "I"), suffix); found {
			number, unit = before, int64(1)<<(10*(i+1))
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, false
	}
	return n * unit, true
}
