package merge

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// deviceTable knows the devices of all sources. Ordinals are those of a process, so a device is one (host, rank,
// type, ordinal); files that say neither host nor rank, such as repeated runs on one machine, share theirs as long
// as the facts agree.
//
// In the merged profile a device of one rank is called "rank3:0" (where only hosts differ "nodeA:0", where both
// are needed "nodeA.rank3:0", where neither does "0" as ever). What ran on several devices names the set of them,
// "rank0-7:0", and the set is an entry of the device table too, with the facts that all members share: that is
// what utilisation is computed from, here and in readers that know nothing of merging.
type deviceTable struct {
	devices []device
	known   map[deviceKey][]deviceID // more than one where facts differ
}

type deviceID int32

// deviceKey is where a device is.
type deviceKey struct{ host, rank, typ, ordinal string }

type device struct {
	deviceKey
	facts profile.Device // without Type and ID; zero where the profile does not describe it
}

// deviceSet has a bit for each deviceID. Frames that some ranks lack have a set each: of 10,000 ranks and as many frames, 12.5 MB.
type deviceSet []uint64

func (s *deviceSet) add(id deviceID) {
	for int(id)/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[id/64] |= 1 << (id % 64)
}

func (s deviceSet) members() (ids []deviceID) {
	for at, word := range s {
		for ; word != 0; word &= word - 1 {
			ids = append(ids, deviceID(at*64+bits.TrailingZeros64(word)))
		}
	}
	return ids
}

// key is equal for equal sets.
func (s deviceSet) key() string {
	key := make([]byte, 0, 8*len(s))
	for _, word := range s {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	return string(key)
}

func newDeviceTable() deviceTable {
	return deviceTable{known: map[deviceKey][]deviceID{}}
}

// intern finds or makes a device. Facts that one file lacks are taken from another.
func (t *deviceTable) intern(at deviceKey, facts profile.Device) deviceID {
	facts.Type, facts.ID = "", ""
	for _, id := range t.known[at] {
		switch d := &t.devices[id]; {
		case d.facts == (profile.Device{}):
			d.facts = facts
			return id
		case sameBoard(&d.facts, facts) || facts == (profile.Device{}):
			return id
		}
	}
	id := deviceID(len(t.devices))
	t.devices = append(t.devices, device{at, facts})
	t.known[at] = append(t.known[at], id)
	return id
}

// sourceDevices are the devices as one file calls them.
type sourceDevices struct {
	table  *deviceTable
	source Source
	facts  map[string][]profile.Device // by name
	count  int                         // of facts
	found  map[[2]string][]deviceID    // by type and name
	// Names of the single devices, in the order in which a set lists them; nil until it is asked for.
	ordered []string
}

func (t *deviceTable) source(p *profile.Profile, s Source) *sourceDevices {
	d := &sourceDevices{table: t, source: s, count: len(p.Devices), facts: map[string][]profile.Device{}, found: map[[2]string][]deviceID{}}
	for _, f := range p.Devices {
		d.facts[f.ID] = append(d.facts[f.ID], f)
	}
	return d
}

// find returns the devices behind a node's device_type and device_id: one, or the members of a set if the file
// was merged before.
func (d *sourceDevices) find(typ, name string) []deviceID {
	key := [2]string{typ, name}
	if ids, ok := d.found[key]; ok {
		return ids
	}
	var ids []deviceID
	for _, member := range d.members(name) {
		facts := profile.Device{Type: typ}
		of := d.facts[member]
		if at := slices.IndexFunc(of, func(f profile.Device) bool { return f.Type == typ || typ == "" }); at >= 0 {
			facts = of[at]
		}
		where := placeOf(strings.Clone(member))
		if ordinal, nth, ok := cutLast(where.ordinal, "#"); ok && isNumber(nth) {
			where.ordinal = ordinal // its facts differ from those of its namesakes
		}
		if !d.source.InFull {
			if where.host == "" && !strings.Contains(d.source.Host, separator) { // several hosts of a merged profile
				where.host = d.source.Host
			}
			where.rank = cmp.Or(where.rank, d.source.Rank)
		}
		where.typ = strings.Clone(facts.Type)
		facts.Arch = strings.Clone(facts.Arch)
		ids = append(ids, d.table.intern(where, facts))
	}
	d.found[key] = ids
	return ids
}

// members takes the name of a set apart if it is one: if all members are in the file's device table.
func (d *sourceDevices) members(name string) []string {
	var all []string
	for _, part := range strings.Split(name, ",") {
		var first, last int
		var ordinal string
		if n, _ := fmt.Sscanf(part, "rank%d-%d:%s", &first, &last, &ordinal); n == 3 && first <= last && last-first < d.count {
			for rank := first; rank <= last; rank++ {
				all = append(all, fmt.Sprintf("rank%d:%s", rank, ordinal))
			}
			continue
		}
		all = append(all, part)
	}
	if most, ok := d.span(name); ok {
		return most
	}
	if len(all) < 2 || slices.ContainsFunc(all, func(m string) bool { return d.facts[m] == nil }) {
		return []string{strings.Clone(name)}
	}
	return all
}

// span reads "first…last (N)": N devices that follow each other in the order of names, of all that the profile has.
func (d *sourceDevices) span(name string) (members []string, ok bool) {
	first, rest, ok := strings.Cut(name, "…")
	last, count, counted := cutLast(strings.TrimSuffix(rest, ")"), " (")
	if n, err := strconv.Atoi(count); !ok || !counted || err != nil || d.facts[first] == nil || d.facts[last] == nil || n > d.count {
		return nil, false
	}
	if d.ordered == nil {
		d.orderNames()
	}
	from, to := slices.Index(d.ordered, first), slices.Index(d.ordered, last)
	if n := strconv.Itoa(to - from + 1); from < 0 || n != count {
		return nil, false
	}
	return d.ordered[from : to+1], true
}

// orderNames sorts the single devices of a profile.
func (d *sourceDevices) orderNames() {
	var t deviceTable
	for name, all := range d.facts {
		if strings.ContainsAny(name, ",…") || isRange(name) {
			continue
		}
		for _, facts := range all {
			where := placeOf(name)
			where.typ = facts.Type
			facts.Type, facts.ID = "", ""
			t.devices = append(t.devices, device{where, facts})
			d.ordered = append(d.ordered, name)
		}
	}
	n := deviceNames{deviceTable: &t}
	ids := make([]deviceID, len(t.devices))
	for i := range ids {
		ids[i] = deviceID(i)
	}
	slices.SortFunc(ids, n.compare)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = d.ordered[id]
	}
	d.ordered = names
}

// isRange says whether a name is of several ranks, as rank0-7:0.
func isRange(name string) bool {
	var first, last int
	n, _ := fmt.Sscanf(name, "rank%d-%d:", &first, &last)
	return n == 2
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// placeOf reads what deviceNames.name writes.
func placeOf(name string) deviceKey {
	prefix, ordinal, ok := cutLast(name, ":")
	if !ok {
		return deviceKey{ordinal: name}
	}
	host, rank, ok := cutLast("."+prefix, ".rank")
	if _, err := strconv.Atoi(rank); !ok || err != nil {
		return deviceKey{host: prefix, ordinal: ordinal}
	}
	return deviceKey{host: strings.TrimPrefix(host, "."), rank: rank, ordinal: ordinal}
}

func cutLast(s, mark string) (before, after string, ok bool) {
	at := strings.LastIndex(s, mark)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(mark):], true
}

// deviceNames calls devices and sets by name and lists those that were called.
type deviceNames struct {
	*deviceTable
	byHost, byRank bool
	distinct       []deviceID        // in order
	place          []int             // of a device in that order; nil until it is asked for
	single         []string          // by deviceID
	same           []deviceID        // by deviceID: the one that stands for devices that turn out to be equal
	memo           map[string]string // by deviceSet.key
	listed         []profile.Device
	isListed       map[[2]string]bool // by type and name
}

// names decides what the devices are called, with their ranks also if only one of several ranks has a device, and lists them in order of rank, host, type and ordinal.
func (t *deviceTable) names(severalRanks, inFull bool) *deviceNames {
	n := &deviceNames{deviceTable: t, single: make([]string, len(t.devices)), same: make([]deviceID, len(t.devices)), memo: map[string]string{}, isListed: map[[2]string]bool{}}
	ranks := map[string]bool{}
	hostsOf := map[string]map[string]bool{}
	for _, d := range t.devices {
		ranks[d.rank] = true
		if hostsOf[d.rank] == nil {
			hostsOf[d.rank] = map[string]bool{}
		}
		if d.host != "" {
			hostsOf[d.rank][d.host] = true
		}
		n.byHost = n.byHost || len(hostsOf[d.rank]) > 1 // one rank on two hosts, or no ranks at all
	}
	// A profile that was merged before does not name the host of a rank if each rank is on one host. Another part of a merge may have it on
	// a second one.
	for i := range t.devices {
		if d := &t.devices[i]; d.host == "" && d.rank != "" && len(hostsOf[d.rank]) == 1 && !inFull {
			for d.host = range hostsOf[d.rank] {
			}
		}
	}
	n.byRank = severalRanks || len(ranks) > 1 || inFull
	n.byHost = n.byHost || inFull
	ids := make([]deviceID, len(t.devices))
	for i := range ids {
		ids[i] = deviceID(i)
	}
	slices.SortStableFunc(ids, n.compare)
	taken := map[[2]string]int{}
	for i, id := range ids {
		d := &t.devices[id]
		n.same[id] = id
		if i > 0 && *d == t.devices[ids[i-1]] {
			n.same[id] = n.same[ids[i-1]]
			n.single[id] = n.single[ids[i-1]]
			continue
		}
		name := n.name(d.deviceKey)
		taken[[2]string{d.typ, name}]++
		if nth := taken[[2]string{d.typ, name}]; nth > 1 { // equal but for its facts
			name = fmt.Sprintf("%s#%d", name, nth)
		}
		n.single[id] = name
		n.distinct = append(n.distinct, id)
		listed := d.facts
		listed.Type, listed.ID = d.typ, name
		n.list(listed)
	}
	return n
}

func (n *deviceNames) name(p deviceKey) string {
	var prefix []string
	if n.byHost && p.host != "" {
		prefix = append(prefix, p.host)
	}
	if n.byRank && p.rank != "" {
		prefix = append(prefix, "rank"+p.rank)
	}
	if len(prefix) == 0 {
		return p.ordinal
	}
	return strings.Join(prefix, ".") + ":" + p.ordinal
}

func (n *deviceNames) compare(x, y deviceID) int {
	a, b := n.devices[x], n.devices[y]
	return cmp.Or(compareNumbers(a.rank, b.rank), cmp.Compare(a.host, b.host), cmp.Compare(a.typ, b.typ), compareNumbers(a.ordinal, b.ordinal),
		cmp.Compare(a.facts.Arch, b.facts.Arch), cmp.Compare(a.facts.NumSMs, b.facts.NumSMs), cmp.Compare(a.facts.ClockRate, b.facts.ClockRate),
		cmp.Compare(a.facts.MemoryClockRate, b.facts.MemoryClockRate), cmp.Compare(a.facts.BusWidth, b.facts.BusWidth), cmp.Compare(a.facts.Name, b.facts.Name))
}

// compareNumbers orders decimal numbers by value, and before other texts.
func compareNumbers(a, b string) int {
	x, xerr := strconv.Atoi(a)
	y, yerr := strconv.Atoi(b)
	switch {
	case xerr == nil && yerr == nil:
		return cmp.Compare(x, y)
	case xerr == nil:
		return -1
	case yerr == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// set returns the name of a set and sees to it that it is listed.
func (n *deviceNames) set(s deviceSet) string {
	key := s.key()
	if name, ok := n.memo[key]; ok {
		return name
	}
	ids := s.members()
	for i, id := range ids {
		ids[i] = n.same[id]
	}
	slices.SortFunc(ids, n.compare)
	ids = slices.Compact(ids)
	name := n.setName(ids)
	n.memo[key] = name
	if d := n.shared(ids, name); !n.isListed[[2]string{d.Type, name}] {
		n.list(d)
	}
	return name
}

func (n *deviceNames) list(d profile.Device) {
	n.listed = append(n.listed, d)
	n.isListed[[2]string{d.Type, d.ID}] = true
}

// longestSet is how long the name of a set may be: it stands at every node.
const longestSet = 48

// longestList is how long the name may be of a set with holes. Shortened, it does not say any more which devices those are, and
// merging once more takes it for a device of its own.
const longestList = 4096

func (n *deviceNames) setName(ids []deviceID) string {
	var parts []string
	for i := 0; i < len(ids); {
		first := n.devices[ids[i]]
		end := i + 1
		for n.byRank && !n.byHost && end < len(ids) && n.follows(ids[end-1], ids[end]) {
			end++
		}
		if end-i > 1 {
			last := n.devices[ids[end-1]]
			parts = append(parts, fmt.Sprintf("rank%s-%s:%s", first.rank, last.rank, first.ordinal))
		} else {
			parts = append(parts, n.single[ids[i]])
		}
		i = end
	}
	name := strings.Join(parts, ",")
	if len(name) > longestSet && len(parts) > 2 && (n.follow(ids) || len(name) > longestList) {
		return fmt.Sprintf("%s…%s (%d)", n.single[ids[0]], n.single[ids[len(ids)-1]], len(ids))
	}
	return name
}

// follow says whether the devices of a set have no other one between them.
func (n *deviceNames) follow(ids []deviceID) bool {
	if n.place == nil {
		n.place = make([]int, len(n.devices))
		for at, id := range n.distinct {
			n.place[id] = at
		}
	}
	return n.place[ids[len(ids)-1]]-n.place[ids[0]] == len(ids)-1
}

// follows says whether b is the same ordinal of the next rank.
func (n *deviceNames) follows(a, b deviceID) bool {
	x, y := n.devices[a], n.devices[b]
	first, err1 := strconv.Atoi(x.rank)
	second, err2 := strconv.Atoi(y.rank)
	return err1 == nil && err2 == nil && second == first+1 && x.ordinal == y.ordinal && n.single[a] == n.name(x.deviceKey) && n.single[b] == n.name(y.deviceKey)
}

// shared are the facts that all members of a set have; others stay unknown.
func (n *deviceNames) shared(ids []deviceID, name string) profile.Device {
	var all profile.Device
	for i, id := range ids {
		d := n.devices[id]
		if i == 0 {
			all = d.facts
			all.Type = d.typ
			continue
		}
		if d.typ != all.Type {
			all.Type += separator + d.typ
		}
		keep(&all.Arch, d.facts.Arch)
		keep(&all.BusWidth, d.facts.BusWidth)
		keep(&all.ClockRate, d.facts.ClockRate)
		keep(&all.MemoryClockRate, d.facts.MemoryClockRate)
		keep(&all.NumSMs, d.facts.NumSMs)
		keep(&all.Name, d.facts.Name)
	}
	all.ID = name
	return all
}

func keep[T comparable](have *T, other T) {
	if *have != other {
		var unknown T
		*have = unknown
	}
}

// sameBoard says whether two descriptions agree. Profiles of older versions do not name the board, so known takes over a name
// that only the other one has.
func sameBoard(known *profile.Device, other profile.Device) bool {
	mine := *known
	mine.Name = cmp.Or(mine.Name, other.Name)
	other.Name = cmp.Or(other.Name, mine.Name)
	if mine != other {
		return false
	}
	known.Name = strings.Clone(mine.Name)
	return true
}
