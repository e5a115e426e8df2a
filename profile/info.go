package profile

import "strings"

// Rank is a line about the place of the process in a distributed run: "rank 3 of 8 on node7 (torchrun, restart 1)"; "" of a profile
// without a rank. Of a merged profile in which ranks ran more than once, it names the attempts: "ranks 0-7; restart 1: 0-7".
func (i Info) Rank() string {
	if strings.Contains(i[InfoRanks], ";") {
		return "ranks " + i[InfoRanks]
	}
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
	if attempt := i.Attempt(); attempt != "" {
		more = append(more, attempt)
	}
	if more != nil {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// Note adds a sentence on what a reader could not make sense of, unless the profile has it.
func (p *Profile) Note(sentence string) {
	if p.Info == nil {
		p.Info = Info{}
	}
	switch note := p.Info[InfoNote]; {
	case note == "":
		p.Info[InfoNote] = sentence
	case !strings.Contains(note, sentence):
		p.Info[InfoNote] = note + "; " + sentence
	}
}

// Attempt is "restart 1", "requeue 1" or "requeue 1 restart 2" of a process whose launcher has started it before, or whose scheduler
// has started its job before; "" of others.
func (i Info) Attempt() string {
	var text []string
	for _, key := range []string{InfoRequeue, InfoRestart} {
		if i[key] != "" {
			text = append(text, key+" "+i[key])
		}
	}
	return strings.Join(text, " ")
}
