package tree

import (
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

func kernelMembers(k *profile.InsideKernel) members {
	all := append(members{{"builds", &k.Builds}, {"by_sm", &k.BySM}}, figureMembers(k.Figures())...)
	return append(all, member{"losses", losses(k.Losses.Figures())}, member{"times", &k.Times})
}

func buildMembers(b *profile.InsideBuild) members {
	return members{
		{"arch", &b.Arch}, {"mode", &b.Mode}, {"rings", &b.Rings}, {"slot_size", &b.SlotSize}, {"triton", &b.Triton}, {"warps", &b.Warps},
	}
}

func scopeMembers(s *profile.InsideScope) members {
	all := append(members{{"by_sm", &s.BySM}, {"by_warp", &s.ByWarp}}, figureMembers(s.Figures())...)
	return append(all, member{"each", &s.Each}, member{"lines", &s.Lines}, member{"sums", &s.Sums})
}

// inside writes what is known of a kernel, or of a scope in one, each on a few lines.
func inside(w Writer, i *profile.Inside) {
	w.Key("inside")
	w.Object(figures.OneIf[int](i.Kernel != nil) + figures.OneIf[int](i.Scope != nil))
	if i.Kernel != nil {
		w.Key("kernel")
		kernelMembers(i.Kernel).write(w)
	}
	if i.Scope != nil {
		w.Key("scope")
		scopeMembers(i.Scope).write(w)
	}
	w.EndObject()
}

// readInside reads and checks it, so that no other code has to.
func readInside(r Reader) *profile.Inside {
	start := r.Here()
	i := &profile.Inside{}
	r.Keep(entrySize)
	for c := r.Object("inside"); c.More; c = r.Next(c) {
		switch string(r.Key()) {
		case "kernel":
			i.Kernel = &profile.InsideKernel{}
			r.Keep(2 * entrySize)
			kernelMembers(i.Kernel).read(r, "a kernel")
		case "scope":
			i.Scope = &profile.InsideScope{}
			r.Keep(entrySize)
			scopeMembers(i.Scope).read(r, "a scope")
		default:
			r.Skip()
		}
	}
	if err := i.Check(); err != nil {
		r.Fail(start, "inside of a node: %v", err)
	}
	return i
}

func readShares(r Reader) (list []profile.InsideShare) {
	for c := r.List("shares"); c.More; c = r.Next(c) {
		start := r.Here()
		var three [3]uint64
		if n := readTuple(r, "a share", three[:]); n != len(three) || three[0] > 1<<32-1 {
			r.Fail(start, "a share is [number, count, amount]")
		}
		list = append(list, profile.InsideShare{At: uint32(three[0]), Count: three[1], Amount: three[2]})
	}
	return list
}

func readLines(r Reader) (list []profile.InsideLine) {
	for c := r.List("lines"); c.More; c = r.Next(c) {
		start := r.Here()
		var l profile.InsideLine
		n := 0
		r.Keep(TextSize)
		for c := r.List("a line"); c.More; c = r.Next(c) {
			switch n {
			case 0:
				l.File = str(r)
			case 1:
				l.Line = whole(r)
			default:
				r.Skip()
			}
			n++
		}
		if n != 2 {
			r.Fail(start, "a line is [file, number]")
		}
		list = append(list, l)
	}
	return list
}
