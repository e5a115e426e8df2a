package parse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// tuneResult is what an autotune record says: how long each configuration took, and which was chosen.
type tuneResult struct {
	tuned                       launchtext.Tuning
	key                         string // Python's text of a tuple: the values of the key's arguments, then the types of tensors
	best, timings, took, cached []byte
}

func readTuneResult(members []jsontext.Member, q quirks.Set) tuneResult {
	r := tuneResult{key: ndjson.TextOf(members, "autotune_key")}
	if stack := ndjson.Get(members, "stack"); stack != nil {
		r.tuned = launchtext.ReadTuning(stack).SeenBy(q)
	}
	get := func(name string) []byte {
		if v := ndjson.Get(members, name); v != nil {
			return bytes.Clone(v)
		}
		return ndjson.Null
	}
	r.best, r.timings, r.took, r.cached = get("best_config"), get("configs_timings"), get("duration"), get("cache_hit")
	return r
}

// result keeps what an autotune record says of its site. Without quirks, a later result for the same key replaces an earlier one.
func (s *sites) result(r *tuneResult) {
	if r.tuned.Session == "" {
		return
	}
	at := s.get(r.tuned)
	same := func(other *tuneResult) bool { return other.key == r.key }
	if !s.quirks.Has(quirks.KeysByArguments) {
		at.results = slices.DeleteFunc(at.results, same)
	}
	at.results = append(at.results, r)
}

// giveResults gives each session its result: at first the results whose key has nothing but values of the session's arguments. A result
// that is left gets a session without launches.
func (s *sites) giveResults(at *site) {
	left := at.results
	if u := at.sessions[0]; len(at.sessions) == 1 && len(left) > 0 && (u.facts == nil || len(left) == 1) {
		u.result, left = left[0], left[1:]
	}
	if len(left) == 0 {
		return
	}
	having := map[uint32][]*session{} // by the hash of a value
	for _, u := range at.sessions {
		for _, f := range u.facts {
			if all := having[f.Value]; len(all) == 0 || all[len(all)-1] != u {
				having[f.Value] = append(all, u)
			}
		}
	}
	for _, whole := range []bool{true, false} {
		var rest []*tuneResult
		for _, r := range left {
			if u := r.fits(having, whole); u != nil {
				u.result = r
			} else {
				rest = append(rest, r)
			}
		}
		left = rest
	}
	for _, r := range left {
		u := s.begin(at)
		u.id, u.result = fmt.Sprintf("%s:%016x", at.id, store.Hash64(r.key)), r
	}
}

// fits is the session without a result that has the most values of the key, or with whole one that has all.
func (r *tuneResult) fits(having map[uint32][]*session, whole bool) *session {
	values := r.values()
	var candidates []*session // those with the rarest value
	for _, v := range values {
		if all := having[v]; len(all) > 0 && (candidates == nil || len(all) < len(candidates)) {
			candidates = all
		}
	}
	var best *session
	most := 0
	for _, u := range candidates {
		n := 0
		for _, v := range values {
			if slices.ContainsFunc(u.facts, func(f launchtext.Fact) bool { return f.Value == v }) {
				n++
			}
		}
		if u.result == nil && n > most && (!whole || n == len(values)) {
			best, most = u, n
		}
	}
	return best
}

// values are the hashes of the key's values, as arguments have them.
func (r *tuneResult) values() []uint32 {
	var all []uint32
	for _, value := range strings.Split(strings.Trim(r.key, "()"), ", ") {
		value = strings.TrimSuffix(value, ",")
		text, ok := map[string]string{"True": "true", "False": "false", "None": `"None"`}[value]
		switch {
		case ok:
		case strings.HasPrefix(value, "'"):
			text = string(jsontext.Quote(strings.Trim(value, "'")))
		default:
			text = value
		}
		all = append(all, launchtext.FactValue(text))
	}
	return all
}
