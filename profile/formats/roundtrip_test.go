package formats

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// reduced takes out of a profile what a format has no place for by its Holds.
func reduced(p *profile.Profile, f *Format) *profile.Profile {
	valid := profiletest.Valid
	if f.Holds&Bytes != 0 {
		valid = func(s string) string { return s }
	}
	profiletest.Reduce(p, valid, func(name string, v profile.Value) (profile.Value, bool) {
		if f.Holds&Kinds == 0 && p.Kinds[name] != profile.Inclusive {
			return v, false
		}
		switch v.Type() {
		case profile.String:
			return profile.StringValue(valid(v.Str())), f.Holds&Text != 0
		case profile.Ints, profile.Floats:
			return v, f.Holds&Vectors != 0
		case profile.Float:
			return v, f.Holds&Floats != 0
		}
		return v, true
	})
	if f.Holds&Devices == 0 {
		p.Devices = nil
	}
	if f.Holds&Info == 0 {
		p.Info = nil
	}
	if f.Holds&Times == 0 {
		p.Root.Walk(func(n *profile.Node, _ int) bool { n.Times = nil; return true })
	}
	return p
}

// random is a profile with numbers that a float holds too: formats that may divide by it say what they round by that.
// The codecs' own tests go to the end of 64 bits.
func random(seed uint64) *profile.Profile {
	p := profiletest.Random(seed)
	profiletest.Reduce(p, func(name string) string { return name }, func(_ string, v profile.Value) (profile.Value, bool) {
		if v.Type() == profile.Int {
			v = profile.IntValue(v.Int() % (1 << 53))
		}
		if f, _ := v.Float(); v.Type() == profile.Float && f == 0 {
			v = profile.FloatValue(0) // pprof has no -0
		}
		return v, true
	})
	return p
}

// tidied is a profile without what only some formats get along with: numbers from 1 on below 2^53, every leaf has a
// time, and siblings have names of their own.
func tidied(p *profile.Profile) *profile.Profile {
	tidy := func(f float64) float64 {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 1
		}
		return 1 + math.Trunc(math.Mod(math.Abs(f), 1e9))
	}
	profiletest.Reduce(p, func(name string) string { return name }, func(_ string, v profile.Value) (profile.Value, bool) {
		switch v.Type() {
		case profile.String:
			return profile.StringValue("x" + v.Str()), true
		case profile.Int:
			return profile.IntValue(1 + int64(uint64(v.Int())%(1<<40))), true
		case profile.Float:
			f, _ := v.Float()
			return profile.FloatValue(tidy(f)), true
		case profile.Floats:
			list := slices.Clone(v.Floats())
			for i := range list {
				list[i] = tidy(list[i])
			}
			return profile.FloatsValue(list), true
		}
		return v, true
	})
	number := 0
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		number++
		n.Name = fmt.Sprintf("%s#%d", n.Name, number)
		n.Set("time (ns)", profile.IntValue(int64(number)))
		return true
	})
	p.Root.Name = "ROOT"
	return p
}

// roundTrip returns what comes back of a profile.
func roundTrip(f *Format, p *profile.Profile) (*profile.Profile, error) {
	var file bytes.Buffer
	if err := (Target{Format: f}).Write(&file, p); err != nil {
		return nil, err
	}
	return Read(&file)
}

// TestWhatIsNotDroppedComesBack writes random profiles in every format with a tree. Where Drops says nothing, every
// bit must come back; and there must be such profiles.
func TestWhatIsNotDroppedComesBack(t *testing.T) {
	for _, f := range All() {
		if f.Holds&Tree == 0 || f.Write == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			lossless := 0
			for seed := range uint64(60) {
				for name, p := range map[string]*profile.Profile{
					"as it is": random(seed), "reduced": reduced(random(seed), f),
					"tidied": reduced(tidied(random(seed)), f),
				} {
					drops := f.Drops(p)
					back, err := roundTrip(f, p)
					if len(drops) > 0 {
						if name == "tidied" && f.WriteMetric == nil {
							t.Fatalf("profile %d, tidied: drops %q", seed, drops)
						}
						continue
					}
					if err != nil {
						continue // an error loses nothing silently
					}
					lossless++
					if got, want := profiletest.Text(back), profiletest.Text(p); got != want {
						t.Fatalf("profile %d, %s: nothing is said to be dropped, and what was\n%s\ncomes back as\n%s", seed, name, want, got)
					}
				}
			}
			if lossless < 30 && f.WriteMetric == nil {
				t.Errorf("only %d of 180 profiles are said to be lossless", lossless)
			}
		})
	}
}

// TestOneFormatKnowsEachFile writes a profile in every format and lets all formats look at the beginning.
func TestOneFormatKnowsEachFile(t *testing.T) {
	for seed := range uint64(20) {
		p := tidied(random(seed))
		p.Timeline = &profile.Timeline{
			Lanes:  []profile.Lane{{ID: 1, Name: "CPU Thread 0"}, {ID: 2, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Stream: 7}},
			Slices: []profile.Slice{{Lane: 1, Name: "s", Start: 1e18, Duration: 50, Path: []string{"ROOT", "s"}}, {Lane: 2, Kind: profile.KernelSlice, Name: "k", Start: 1e18 + 9, Duration: 5, Path: []string{"ROOT", "s", "k"}}},
		}
		if len(p.Root.Children) == 0 {
			continue // one line of folded stacks without a ';' could be any text
		}
		for _, f := range All() {
			if f.Write == nil {
				continue
			}
			var file bytes.Buffer
			if err := f.Write(&file, p); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			head := file.Bytes()[:min(file.Len(), headSize)]
			if got, _, err := recognise(bytes.NewReader(file.Bytes()), head); got != f {
				t.Errorf("profile %d as %s: taken for %v, error %v\n%.300q", seed, f.Name, got, err, head)
			}
			for _, other := range All() {
				if other.Sniff != nil && other.Sniff(head) != (other == f) {
					t.Errorf("profile %d as %s: %s knows it: %v\n%.300q", seed, f.Name, other.Name, other != f, head)
				}
			}
		}
	}
}

// TestNamesAndSuffixesDiffer, because a name or the end of a path must mean one format.
func TestNamesAndSuffixesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, f := range All() {
		for _, word := range append([]string{f.Name}, f.Suffixes...) {
			if other := seen[word]; other != "" {
				t.Errorf("%q means %s and %s", word, other, f.Name)
			}
			seen[word] = f.Name
		}
		for _, s := range f.Suffixes {
			if got := ByPath("dir/run" + s); got != f {
				t.Errorf("run%s is %v, want %s", s, got, f.Name)
			}
			if !strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".gz") || strings.HasSuffix(s, ".zst") {
				t.Errorf("the suffix %q of %s: it begins with a point, and .gz and .zst follow it of themselves", s, f.Name)
			}
		}
	}
}

// TestTableOfFormats compares docs/formats.md with the registry, so that the page does not promise what is not so.
func TestTableOfFormats(t *testing.T) {
	const head = "| format | files |"
	testkit.Between(t, "../../docs/formats.md", head, "\n\n", strings.TrimSuffix(strings.TrimPrefix(holdingsTable(), head), "\n"))
}

// holdingsTable is what every format holds as a table of Markdown, for docs/formats.md.
func holdingsTable() string {
	var b strings.Builder
	b.WriteString("| format | files |")
	for _, each := range holdings {
		fmt.Fprintf(&b, " %s |", each.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat(":-:|", len(holdings)) + "\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %s | `%s` |", f.Name, strings.Join(f.Suffixes, "`, `"))
		for _, each := range holdings {
			if f.Holds&each.bit != 0 {
				b.WriteString(" ● |")
			} else {
				b.WriteString("  |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// FuzzRead reads files of any format, packed or not, as every command does.
func FuzzRead(f *testing.F) {
	p := tidied(random(profiletest.Small[2]))
	for _, format := range All() {
		var file bytes.Buffer
		if format.Write == nil || format.Write(&file, p) != nil {
			continue
		}
		for _, c := range []Compression{Plain, Gzip, Zstd} {
			f.Add(packed(f, file.Bytes(), c))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Read(bytes.NewReader(in))
		if (p == nil) == (err == nil) {
			t.Fatalf("read %v, error %v", p, err)
		}
		if err != nil {
			return
		}
		for _, format := range All() {
			format.Drops(p)
		}
	})
}
