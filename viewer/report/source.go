package report

import (
	"errors"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/source"
)

// Texts are what the Source tab may read beside a profile; nil leaves sources and instructions without text.
type Texts struct {
	Files   *source.Files
	Modules *source.Modules
}

// sourceOf is the Source tab's data; nil for a profile without instruction samples.
func sourceOf(p *profile.Profile, t *Texts) (*source.Page, error) {
	s, err := source.Collect(p, source.Options{})
	if errors.Is(err, source.ErrNoSamples) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := source.Listing{Files: source.NoFiles(), Context: 8}
	if t != nil {
		l.Files, l.Modules = t.Files, t.Modules
	}
	return source.NewPage(s, l), nil
}
