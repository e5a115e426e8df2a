package profile

import "testing"

func TestRankLine(t *testing.T) {
	for _, c := range []struct {
		info Info
		want string
	}{
		{nil, ""},
		{Info{InfoHost: "node7", InfoWorld: "8"}, ""},
		{Info{InfoRank: "3"}, "rank 3"},
		{Info{InfoRank: "3", InfoWorld: "8", InfoHost: "node7"}, "rank 3 of 8 on node7"},
		{Info{InfoRank: "0", InfoWorld: "2", InfoHost: "n", InfoLauncher: "torchrun", InfoRestart: "1"}, "rank 0 of 2 on n (torchrun, restart 1)"},
		{Info{InfoRank: "0", InfoRestart: "2"}, "rank 0 (restart 2)"},
		{Info{InfoRank: "0", InfoRequeue: "1", InfoRestart: "2"}, "rank 0 (requeue 1 restart 2)"},
		{Info{InfoRanks: "0-7", "merged": "8"}, ""},
		{Info{InfoRanks: "0-7; restart 1: 0-3", "merged": "12"}, "ranks 0-7; restart 1: 0-3"},
	} {
		if got := c.info.Rank(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.info, got, c.want)
		}
	}
}
