package report

import (
	"errors"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/joined"
	"github.com/goproton/goproton/viewer/source"
)

// Texts are the files that the Source tab may read in addition to a profile; nil leaves sources and instructions without text.
type Texts struct {
	Files   *source.Files
	Modules *source.Modules
	Trace   *tritonparse.Trace // of the same run: what lines became; nil if there is none
}

// addSource fills the Source tab of a profile with instruction samples, and the Launches tab of one with a trace.
func (b *builder) addSource(p *profile.Profile, t *Texts) error {
	s, err := source.Collect(p, source.Options{})
	if err != nil && !errors.Is(err, source.ErrNoSamples) {
		return err
	}
	l := t.listing()
	if t != nil && t.Trace != nil {
		j, err := joined.New(joined.Options{Profile: p, Trace: t.Trace, Samples: s, Modules: l.Modules, Kernel: "."})
		if err != nil {
			return err
		}
		j.AddSources(l.Files)
		l.IR = j.IR()
		b.Launches = launchesOf(j)
		b.note(j.Notes...)
	}
	if s != nil {
		b.Source = source.NewPage(s, l)
	}
	return nil
}

func (t *Texts) listing() source.Listing {
	l := source.Listing{Files: source.NoFiles(), Context: 8}
	if t != nil {
		l.Files, l.Modules = t.Files, t.Modules
	}
	return l
}

// comparedSource is the Source tab's data for two profiles; nil unless both have instruction samples, and a note if one has.
func comparedSource(a, z Source, o Options) (page *source.Page, note string, err error) {
	listings := [2]source.Listing{o.Old.listing(), o.Texts.listing()}
	files := [2]*source.Files{listings[0].Files, listings[1].Files}
	c, err := source.Compare(a.Profile, z.Profile, source.CompareOptions{Rename: compare.Renamed(o.Rename), Files: files})
	if errors.Is(err, source.ErrNoSamples) {
		for _, one := range []Source{a, z} {
			if one.Profile.Sampling != nil {
				note = one.Name + " has instruction samples, and what it is compared with has none: there is no Source tab"
			}
		}
		return nil, note, nil
	}
	if err != nil {
		return nil, "", err
	}
	return source.NewComparePage(c, listings), "", nil
}
