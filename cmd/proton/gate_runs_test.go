package main

import (
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/compare"
)

// TestGateTakesDifferentRuns: copies of one run have no spread, and would look like several runs that agree.
func TestGateTakesDifferentRuns(t *testing.T) {
	input := func(host, pid, start, end string) compare.Input {
		return compare.Input{Name: pid, Profile: &profile.Profile{Info: profile.Info{profile.InfoHost: host, profile.InfoPID: pid, profile.InfoStart: start, profile.InfoEnd: end}}}
	}
	one := input("a", "7", "100", "200")
	for _, c := range []struct {
		other compare.Input
		same  bool
	}{{one, true}, {input("b", "7", "100", "200"), false}, {input("a", "8", "100", "200"), false}, {input("a", "7", "101", "200"), false}, {input("a", "7", "100", "300"), false}} {
		if err := differentRuns([]compare.Input{one, c.other}); (err != nil) != c.same {
			t.Errorf("%v: %v", c.other.Profile.Info, err)
		}
	}
	unknown := input("a", "", "", "")
	if err := differentRuns([]compare.Input{unknown, unknown}); err != nil {
		t.Errorf("files that name no process: %v", err)
	}
}
