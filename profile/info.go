package profile

import "strings"

// Rank is a line about the place of the process in a distributed run: "rank 3 of 8 on node7 (torchrun, restart 1)"; "" of a profile
// without a rank.
func (i Info) Rank() string {
	if i[InfoRank] == "" {
		return ""
	}
	text := "rank " + i[InfoRank]
	if i[InfoWorld] != "" {
		text += " of " + i[InfoWorld]
	}
	if i[InfoHost] != "" {
		text += " on " + i[InfoHost]
	}
	var more []string
	if i[InfoLauncher] != "" {
		more = append(more, i[InfoLauncher])
	}
	if i[InfoRestart] != "" {
		more = append(more, "restart "+i[InfoRestart])
	}
	if more != nil {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}
