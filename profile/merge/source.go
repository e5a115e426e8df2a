package merge

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
)

// By says what the columns of a merged profile stand for.
type By string

// The ways to tell sources apart. None keeps no columns.
const (
	None   By = ""
	ByRank By = "rank"
	ByHost By = "host"
	ByRun  By = "run"
	ByFile By = "file"
)

// Identifier says where profiles come from: from the facts in them, else from the names of their files.
type Identifier struct {
	By      By
	Place   int  // of the first profile on the command line, if this is a part of a larger merge
	OfParts bool // the profiles were merged with Options.Part
	Note    func(note string)

	count  int
	labels map[string]string // label → file, for ByFile
}

// ranks are the ways in which file names say a rank: train.rank3.hatchet, train-rank_3, out.r3.hatchet.
var ranks = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_.=]?(\d+)(?:[^0-9]|$)`),
	regexp.MustCompile(`(?:^|[._-])r(\d+)(?:[._-]|$)`),
}

// processName is the form that proton run gives to files of several processes: {name}.{host}.{rank}.{pid}.
var processName = regexp.MustCompile(`^.+\.([^.]+)\.(\d+)\.(\d+)$`)

// Identify describes the source of the next profile.
func (i *Identifier) Identify(file string, p *profile.Profile) (Source, error) {
	s := Source{File: file, Host: p.Info[profile.InfoHost], Rank: p.Info[profile.InfoRank], InFull: i.OfParts}
	order := i.Place + i.count
	i.count++
	base := stem(filepath.Base(file))
	fromName(&s, base)
	if hasColumns(p) || p.Info[InfoMerged] != "" && s.Rank == "" && i.By == ByRank {
		return s, nil // it was merged before: it has columns of its own, or its sources cannot be separated
	}
	switch i.By {
	case None:
	case ByRank:
		if s.Rank == "" {
			s.Rank = strconv.Itoa(order)
			i.note(fmt.Sprintf("%s names no rank, neither inside nor in its file name: taken as rank %d, its place on the command line", file, order))
		}
		s.Label = "rank" + label(s.Rank)
	case ByHost:
		if s.Host == "" {
			s.Host = "host" + strconv.Itoa(order)
			i.note(fmt.Sprintf("%s does not name its host: taken as %s", file, s.Host))
		}
		s.Label = label(s.Host)
	case ByRun:
		s.Label = "run" + strconv.Itoa(order+1)
	case ByFile:
		s.Label = i.unique(label(base), file)
	default:
		return s, fmt.Errorf("keep columns by %q: use rank, host, run or file", i.By)
	}
	return s, nil
}

func hasColumns(p *profile.Profile) bool {
	for name := range p.Kinds {
		if _, _, ok := SplitColumn(name); ok {
			return true
		}
	}
	return false
}

// stem drops the suffixes of format and compression, but no number: train.host.3.4242 has none.
func stem(base string) string {
	base = inflate.Unpacked(base)
	ext := filepath.Ext(base)
	if _, err := strconv.Atoi(strings.TrimPrefix(ext, ".")); err != nil && ext != base {
		return strings.TrimSuffix(base, ext)
	}
	return base
}

// fromName fills in what only the file's name says.
func fromName(s *Source, base string) {
	if m := processName.FindStringSubmatch(base); m != nil {
		s.Host, s.Rank = cmp.Or(s.Host, m[1]), cmp.Or(s.Rank, number(m[2]))
	}
	for _, re := range ranks {
		if m := re.FindStringSubmatch(base); m != nil && s.Rank == "" {
			s.Rank = number(m[1])
		}
	}
}

// number drops leading zeros: rank 03 is rank 3.
func number(digits string) string { return cmp.Or(strings.TrimLeft(digits, "0"), "0") }

// unique makes labels of files of one name in different folders differ.
func (i *Identifier) unique(label, file string) string {
	if i.labels == nil {
		i.labels = map[string]string{}
	}
	for n, name := 1, label; ; n++ {
		if _, taken := i.labels[name]; !taken {
			i.labels[name] = file
			if name != label {
				i.note(fmt.Sprintf("%s is called %s: %s has the same name", file, name, i.labels[label]))
			}
			return name
		}
		name = label + "-" + strconv.Itoa(n+1)
	}
}

func (i *Identifier) note(text string) {
	if i.Note != nil {
		i.Note(text)
	}
}

// name is the label of a source, its rank, or its file.
func (s *Source) name() string {
	if s.Label == "" && s.Rank != "" {
		return "rank" + s.Rank
	}
	return cmp.Or(s.Label, s.File)
}

// Member is a profile and where it comes from.
type Member struct {
	Profile *profile.Profile
	Source  Source
}

// Name is what a table calls the source: "rank3", "rank3 restart 1", or the file.
func (m *Member) Name() string {
	name := m.Source.name()
	if attempt := m.Profile.Info.Attempt(); attempt != "" {
		name += " " + attempt
	}
	return name
}

// Last leaves out the members of an earlier attempt of their rank, and returns sentences about them. apart is Ranks.Apart.
func Last(all []Member, apart bool) (kept []Member, notes []string) {
	ranks := Ranks{Apart: apart}
	for _, m := range all {
		ranks.Add(m.Source, m.Profile)
	}
	earlier, notes := ranks.Earlier()
	for i, m := range all {
		if !earlier[i] {
			kept = append(kept, m)
		}
	}
	return kept, notes
}
