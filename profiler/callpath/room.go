package callpath

import "maps"

// A Go map keeps its room when its entries are deleted, so a burst of launches, or a time in which the drainer had no processor, would
// keep megabytes for ever. 100,000 launches take 7 MB.
const (
	roomKept  = 1 << 13 // launches that there is always room for
	roomWatch = 128     // cycles, over which the most that waited at once counts
)

// room is how large the maps of launches are, and how large they need to be.
type room struct {
	made  int    // launches that the maps have room for
	most  int    // that waited at once since the last look
	since uint32 // cycle of that look
}

// fit makes smaller maps if the maps have had four times the room that was needed, for a while.
func (r *Resolver) fit() {
	if r.cycle-r.room.since < roomWatch {
		return
	}
	most := max(r.room.most, len(r.launches), roomKept)
	r.room.made = max(r.room.made, most)
	if r.room.made > 4*most {
		r.launches, r.functions, r.timed = copied(r.launches, most), copied(r.functions, len(r.functions)), copied(r.timed, len(r.timed))
		r.room.made = most
	}
	r.room.most, r.room.since = len(r.launches), r.cycle
}

func copied[V any](from map[uint64]V, size int) map[uint64]V {
	to := make(map[uint64]V, size)
	maps.Copy(to, from)
	return to
}
