package validate

import (
	"fmt"
	"path/filepath"
	"strings"
)

// joiner compares records with one another, in the order of the trace.
type joiner struct {
	v         *validator
	compiled  map[string]bool        // hashes
	launched  map[string]recordPlace // hashes, by their first launch
	counted   map[string]int64       // launches of a hash in the file that is read
	functions map[[2]string]string
	rank      string
	ids       bitset // occurrence ids of the rank that is read
	parsed    bool
	order     []string // hashes of launches, as they came
}

type recordPlace struct {
	file string
	line int
}

func (j *joiner) init(v *validator) {
	*j = joiner{v: v, compiled: map[string]bool{}, launched: map[string]recordPlace{}, functions: map[[2]string]string{}}
}

// file begins a file. Occurrence ids are given rank by rank, and each rank of a parsed trace has its folder.
func (j *joiner) file(path string) {
	j.counted = map[string]int64{}
	if rank := filepath.Dir(path); rank != j.rank {
		j.rank, j.ids = rank, bitset{}
	}
}

func (j *joiner) take(path string, r *record) {
	wrong := func(member, what string, warning bool) {
		j.v.report(Finding{File: path, Line: r.line, Type: r.kind, Member: member, What: what, Rule: Joins, Warning: warning})
	}
	// The summary is written into each file of a rank.
	if r.occurrence >= 0 && r.kind != "autotune_summary" {
		j.parsed = true
		if !j.ids.add(r.occurrence) {
			wrong("occurrence_id", fmt.Sprintf("is %d, which an earlier record has too", r.occurrence), false)
		}
	}
	switch r.kind {
	case "compilation":
		if r.hash != "" && j.compiled[r.hash] && r.occurrence >= 0 {
			wrong("payload.metadata.hash", fmt.Sprintf("is that of an earlier compilation: %s", short(r.hash)), true)
		}
		j.compiled[r.hash] = true
	case "launch":
		j.launch(path, r, wrong)
	case "launch_diff":
		if n := j.counted[r.hash]; r.launches > 0 && n != r.launches && n > 0 {
			wrong("total_launches", fmt.Sprintf("is %d, but %d launches of %s are in this file", r.launches, n, short(r.hash)), false)
		}
	}
}

func (j *joiner) launch(path string, r *record, wrong func(member, what string, warning bool)) {
	if r.hash == "" {
		return
	}
	j.counted[r.hash]++
	if _, known := j.launched[r.hash]; !known {
		j.launched[r.hash] = recordPlace{path, r.line}
		j.order = append(j.order, r.hash)
	}
	if r.function == "" || r.function == "null" {
		return
	}
	key := [2]string{r.pid, r.function}
	if was, known := j.functions[key]; known && was != r.hash {
		wrong("function", fmt.Sprintf("is %s of process %s, which launched %s before: the module was unloaded in between, or times go to the wrong kernel", r.function, r.pid, short(was)), true)
	}
	j.functions[key] = r.hash
}

// end reports launches whose compilation no record has.
func (j *joiner) end() {
	for _, hash := range j.order {
		if j.compiled[hash] {
			continue
		}
		p := j.launched[hash]
		j.v.report(Finding{
			File: p.file, Line: p.line, Type: "launch", Member: "compilation_metadata.hash",
			What: fmt.Sprintf("names %s, which no compilation has", short(hash)), Rule: Joins,
			// In raw traces these are kernels compiled before the trace began; parsing infers their compilation.
			Warning: !j.parsed,
		})
	}
}

func short(hash string) string { return strings.ToValidUTF8(hash[:min(12, len(hash))], "") }

// bitset holds ids, which begin at 0 and have few gaps. Ids far beyond the others are in a map.
type bitset struct {
	words []uint64
	far   map[int64]bool
}

// add adds an id and reports whether it is new.
func (b *bitset) add(id int64) bool {
	const dense = 1 << 32
	if word := id / 64; word < int64(len(b.words))*2+1<<16 && id < dense {
		if n := int(word) + 1 - len(b.words); n > 0 {
			b.words = append(b.words, make([]uint64, n)...)
		}
		bit := uint64(1) << (id % 64)
		was := b.words[word]&bit != 0 || b.far[id]
		b.words[word] |= bit
		return !was
	}
	if b.far[id] {
		return false
	}
	if b.far == nil {
		b.far = map[int64]bool{}
	}
	b.far[id] = true
	return true
}
