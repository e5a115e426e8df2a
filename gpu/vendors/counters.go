package vendors

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/lookup"
)

// What the mode "counters" measures by default.
const (
	mostCounted       = 200
	largestMost       = 1_000_000
	largestFirst      = 10_000
	counterOptionKeys = "set|first|most|kernels"
)

var nextCounterOption = regexp.MustCompile(`(?i):(` + counterOptionKeys + `)=`)

// counterOptions are the options of the mode "counters": "set=memory:kernels=matmul_*,softmax*:first=3:most=50". A colon belongs to a value
// unless an option follows: names of C++ kernels have colons.
func counterOptions(text string) (list []string) {
	for rest := text; rest != ""; {
		option := rest
		if at := nextCounterOption.FindStringIndex(rest); at != nil {
			option, rest = rest[:at[0]], rest[at[0]+1:]
		} else {
			rest = ""
		}
		list = append(list, option)
	}
	return list
}

// HasSet says whether options of the mode "counters" name a set.
func HasSet(options string) bool { return slices.ContainsFunc(counterOptions(options), isSet) }

func isSet(option string) bool { return strings.HasPrefix(strings.ToLower(option), "set=") }

// WithSet are the options of the mode "counters" with another set.
func WithSet(options, set string) string {
	list := slices.DeleteFunc(counterOptions(options), isSet)
	return strings.Join(append([]string{"set=" + set}, list...), ":")
}

// parseCounters reads the options of the mode "counters".
func parseCounters(text string) (record.SamplingRequest, error) {
	r := &record.CounterRequest{Set: counters.DefaultSet, First: 1, Most: mostCounted}
	for _, option := range counterOptions(text) {
		if err := setCounterOption(r, option); err != nil {
			return record.SamplingRequest{}, err
		}
	}
	if r.Set == counters.LinesSet {
		return record.SamplingRequest{Mode: record.ByLine, OfLaunches: true, Some: true, KeepImages: true, KeepSources: true, Counters: r}, nil
	}
	return record.SamplingRequest{Counters: r}, nil
}

// parseAMDCounters refuses what only NVIDIA's library counts.
func parseAMDCounters(text string) (record.SamplingRequest, error) {
	request, err := parseCounters(text)
	if err == nil && request.Mode == record.ByLine {
		err = errors.New("set=lines: AMD's library does not count by source line, as NVIDIA's does: use mode pcsampling")
	}
	return request, err
}

func setCounterOption(r *record.CounterRequest, option string) (err error) {
	key, value, _ := strings.Cut(option, "=")
	switch strings.ToLower(key) {
	case "set":
		r.Set, err = value, checkSet(value)
	case "first":
		var n uint64
		n, err = launches(key, value, largestFirst)
		r.First = uint32(n)
	case "most":
		r.Most, err = launches(key, value, largestMost)
	case "kernels":
		r.Pattern = value
		if r.Kernels, err = lookup.Kernels(value); err != nil {
			err = fmt.Errorf("kernels=%s: %w", value, err)
		}
	default:
		return fmt.Errorf("unsupported option key: %s; set, first, most and kernels are known", key)
	}
	return err
}

// NoCounters is the error for a backend that cannot measure.
func NoCounters(backend string) error {
	return fmt.Errorf(`mode "counters": backend %q cannot measure hardware counters, as %s does; leave the mode out to time kernels`, backend, NVIDIA.Backends[0].Names[0])
}

// checkSet refuses a set that no kind of GPU has: which one will be used is not known yet.
func checkSet(word string) (err error) {
	for _, chip := range append([]string{"GH100", "GB100", "AD102", "GA100", "TU102", "GV100"}, counters.AMDChips...) {
		_, failed := counters.Set(word, chip)
		if failed == nil {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("set=%s: %w", word, failed)
		}
	}
	return err
}

func launches(key, value string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, fmt.Errorf("%s=%s: want a number of launches from 1 to %d", key, value, most)
	}
	return n, nil
}
