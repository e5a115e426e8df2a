package formats

import (
	"fmt"
	"io"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
)

// Target is how a profile is to be written.
type Target struct {
	Format      *Format
	Compression Compression
	Metric      string // which one, for a format that holds a single one; "" for the usual one
}

// TargetOf reads a target off the end of a path, "run.hatchet.zst". A format that is given wins over the path's.
func TargetOf(path string, f *Format) (Target, error) {
	byPath, _, c := splitPath(path)
	if f == nil {
		f = byPath
	}
	if f == nil {
		return Target{}, fmt.Errorf("the name %s has none of the formats' suffixes (%s); name the format", path, suffixes())
	}
	return Target{Format: f, Compression: max(c, f.Packed)}, nil
}

func suffixes() string { return list(func(f *Format) string { return f.Suffixes[0] }) }

func written() string {
	return list(func(f *Format) string {
		if f.Write == nil {
			return ""
		}
		return f.Name
	})
}

// TargetNamed reads a target off a name that users give: "hatchet", "hatchet.gz".
func TargetNamed(name string) (Target, error) {
	plain, c := cutCompression(name)
	f, err := ByName(plain)
	if err != nil {
		return Target{}, err
	}
	return Target{Format: f, Compression: max(c, f.Packed)}, nil
}

// Write writes a profile.
func (t Target) Write(w io.Writer, p *profile.Profile) error {
	if t.Format.Write == nil {
		return fmt.Errorf("%s is read only; formats that are written: %s", t.Format.Name, written())
	}
	if t.Metric != "" && t.Format.WriteMetric == nil {
		return fmt.Errorf("%s holds all metrics; leave out the metric", t.Format.Name)
	}
	packed, err := pack(w, t.Compression)
	if err != nil {
		return err
	}
	if t.Metric != "" {
		err = t.Format.WriteMetric(packed, p, t.Metric)
	} else {
		err = t.Format.Write(packed, p)
	}
	if closeErr := packed.Close(); err == nil {
		err = closeErr
	}
	return err
}

// WriteFile writes a profile and replaces an older file in one step.
func (t Target) WriteFile(path string, p *profile.Profile) error {
	return ownfile.Replace(path, func(w io.Writer) error { return t.Write(w, p) })
}
