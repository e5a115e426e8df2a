package sourcemap

// A loop that is unrolled a thousand times has thousands of lines from one place in every stage. Each naming all of the others
// is what the format says, and what the compat reading does: of 10,000 lines 9 GB. The correct reading bounds that.

const (
	// mostPairs is how many numbers all lists of one place may have, from one stage to another: below it they are whole.
	// Of 512 lines each names the other 512, which is 1.5 MB.
	mostPairs = 1 << 18
	// leastNear is how many lines an entry names at least of those that there are.
	leastNear = 64
)

// crowd is the lines of a stage from one place, if they are too many for each to name all lines of another stage. Both stages have
// them in about the same order, so an entry names lines that are as far from the first one as itself.
type crowd struct {
	lines int             // of the stage whose entries name others
	seen  int             // entries so far
	near  map[int]*others // by where they begin: neighbours share theirs
}

// crowdsOf are those of two stages, by place; nil if there can be none.
func crowdsOf(entries []Entry, at map[Origin]*others, key func(*Entry) Origin) map[Origin]*crowd {
	longest := 0
	for _, o := range at {
		longest = max(longest, len(o.lines))
	}
	if len(entries)*longest <= mostPairs {
		return nil
	}
	all := map[Origin]*crowd{}
	for i := range entries {
		p := key(&entries[i])
		if all[p] == nil {
			all[p] = &crowd{near: map[int]*others{}}
		}
		all[p].lines++
	}
	for p, c := range all {
		if o := at[p]; o == nil || c.lines*len(o.lines) <= mostPairs {
			delete(all, p)
		}
	}
	return all
}

// next is the lines of another stage that the next entry of the crowd names.
func (c *crowd) next(all *others) *others {
	room := max(leastNear, mostPairs/c.lines)
	middle := c.seen * len(all.lines) / c.lines
	c.seen++
	if room >= len(all.lines) {
		return all
	}
	step := max(room/4, 1)
	from := min(max(middle-room/2, 0)/step*step, len(all.lines)-room)
	if c.near[from] == nil {
		c.near[from] = &others{all.stage, all.lines[from : from+room]}
	}
	return c.near[from]
}
