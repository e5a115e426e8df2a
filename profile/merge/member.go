package merge

import "github.com/goproton/goproton/profile"

// Member is a profile and where it comes from.
type Member struct {
	Profile *profile.Profile
	Source  Source
}

// Name is what a table calls the source: "rank3", "rank3 restart 1", or the file.
func (m *Member) Name() string {
	name := m.Source.Label
	switch {
	case name != "":
	case m.Source.Rank != "":
		name = "rank" + m.Source.Rank
	default:
		name = m.Source.File
	}
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
