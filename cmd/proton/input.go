package main

import (
	"fmt"
	"io"

	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// readProfile reads a file of any format, or standard input for "-".
func readProfile(file string, stdin io.Reader) (*profile.Profile, error) {
	return readProfileAs(file, stdin, nil)
}

// readProfileAs reads a file of one format, nil for any.
func readProfileAs(file string, stdin io.Reader, f *formats.Format) (*profile.Profile, error) {
	p, err := readSilently(file, stdin, f)
	if err == nil {
		warnIncomplete(file, p)
	}
	return p, err
}

// readSilently is readProfileAs without warnings, which several files that are read at once would mix up.
func readSilently(file string, stdin io.Reader, f *formats.Format) (*profile.Profile, error) {
	if file != "-" {
		p, err := formats.ReadFileAs(file, f)
		if err != nil && formats.NotThere(err) {
			return nil, fmt.Errorf("%w; give a profile, for example the .hatchet file that proton run writes", err)
		}
		return p, err
	}
	p, err := formats.ReadAs(stdin, f)
	if err != nil {
		return nil, fmt.Errorf("read profile from standard input: %w; pipe a profile into this command", err)
	}
	return p, nil
}

// warnIncomplete reports on standard error that the profile is incomplete, or is not of a GPU.
func warnIncomplete(file string, p *profile.Profile) {
	if file == "-" {
		file = "standard input"
	}
	if newer := version.Newer(p.Info[profile.InfoTool]); newer != "" {
		tell(toUser(), "%s: %s; what this one does not know is left out", file, newer)
	}
	for _, about := range []string{profile.InfoSynthetic, profile.InfoNote, profile.InfoIncomplete, profile.InfoSampled, profile.InfoThinned} {
		if p.Info[about] != "" {
			tell(toUser(), "%s: %s", file, p.Info[about])
		}
	}
}
