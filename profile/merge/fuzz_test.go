package merge

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

// FuzzMerge merges what is read from two files, which may say anything about their ranks and attempts. The sum can be written, and be
// merged again.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`[{"frame":{"name":"ROOT"},"metrics":{"count":1},"children":[{"frame":{"name":"a"},"metrics":{"time (ns)":5,"device_id":"0"},"children":[]}],`+
		`"info":{"rank":"1","world":"4","host":"n","start":"7","restart":"2"}},{}]`),
		[]byte(`[{"frame":{"name":"ROOT"},"metrics":{"count":1},"children":[{"frame":{"name":"a"},"metrics":{"loss":[1,2]},"children":[]}],`+
			`"info":{"merged":"2","ranks":"0-3; restart 1: 0-1; requeue 2 restart 1: 9223372036854775807"}},{}]`), true, false)
	f.Fuzz(func(t *testing.T, a, b []byte, sorted, timeline bool) {
		m, who := New(Options{Sorted: sorted, Timeline: timeline}), Identifier{By: ByRank}
		var ranks Ranks
		added := 0
		for _, file := range [][]byte{a, b, a} {
			p, err := hatchet.Read(bytes.NewReader(file))
			if err != nil {
				continue
			}
			source, err := who.Identify("a file", p)
			if err != nil {
				continue
			}
			ranks.Add(source, p)
			if m.Add(p, source) == nil {
				added++
			}
		}
		ranks.Notes()
		ranks.Earlier()
		if added == 0 {
			return
		}
		var out bytes.Buffer
		if err := hatchet.Write(&out, m.Profile()); err != nil {
			t.Fatal(err)
		}
		again, err := hatchet.Read(&out)
		if err == nil {
			_, err = Fold(again, nil)
		}
		if err = errors.Join(err, hatchet.Write(io.Discard, again)); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzAttempts: what String writes of any text is read as the same again.
func FuzzAttempts(f *testing.F) {
	f.Add("0-7; restart 1: 0-3; requeue 1: 0-7; requeue 2 restart 1: 5, 9")
	f.Add("restart 0: 1")
	f.Add("3-1")
	f.Add("; restart 1 restart 2: 5,5")
	f.Fuzz(func(t *testing.T, text string) {
		all := parseAttempts(text)
		if again := parseAttempts(all.String()); all != nil && !reflect.DeepEqual(again, all) {
			t.Errorf("%q is %q, which is read as %v", text, all, again)
		}
		all = ranksByAttempt{}
		all.add(profile.Info{profile.InfoRanks: text}, "")
		all.add(profile.Info{profile.InfoRestart: text, profile.InfoRequeue: text}, text)
	})
}
