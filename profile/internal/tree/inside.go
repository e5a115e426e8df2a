package tree

import (
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// inside writes what is known of a kernel, or of a scope in one, each on a few lines.
func inside(w Writer, i *profile.Inside) {
	w.Key("inside")
	w.Object(figures.OneIf[int](i.Kernel != nil) + figures.OneIf[int](i.Scope != nil))
	if i.Kernel != nil {
		insideKernel(w, i.Kernel)
	}
	if i.Scope != nil {
		insideScope(w, i.Scope)
	}
	w.EndObject()
}

func insideKernel(w Writer, k *profile.InsideKernel) {
	all := k.Figures()
	w.Key("kernel")
	w.Object(len(all) + 3 + figures.OneIf[int](hasTimes(k.Times)))
	w.Key("builds")
	w.List(len(k.Builds))
	for i := range k.Builds {
		w.Next()
		build(w, &k.Builds[i])
	}
	w.EndList()
	shares(w, "by_sm", k.BySM)
	writeFigures(w, all)
	w.Key("losses")
	before := w.Wrap(false)
	lost := seen(k.Losses.Figures())
	w.Object(len(lost))
	writeFigures(w, lost)
	w.EndObject()
	w.Wrap(before)
	if hasTimes(k.Times) {
		times(w, "times", k.Times)
	}
	w.EndObject()
}

func build(w Writer, b *profile.InsideBuild) {
	before := w.Wrap(false)
	w.Object(6)
	text(w, "arch", b.Arch)
	text(w, "mode", b.Mode)
	number(w, "rings", uint64(max(b.Rings, 0)))
	number(w, "slot_size", uint64(max(b.SlotSize, 0)))
	text(w, "triton", b.Triton)
	number(w, "warps", uint64(max(b.Warps, 0)))
	w.EndObject()
	w.Wrap(before)
}

func insideScope(w Writer, s *profile.InsideScope) {
	all := s.Figures()
	w.Key("scope")
	w.Object(len(all) + 3 + figures.OneIf[int](hasTimes(s.Each)) + figures.OneIf[int](hasTimes(s.Sums)))
	shares(w, "by_sm", s.BySM)
	shares(w, "by_warp", s.ByWarp)
	writeFigures(w, all)
	if hasTimes(s.Each) {
		times(w, "each", s.Each)
	}
	w.Key("lines")
	before := w.Wrap(false)
	w.List(len(s.Lines))
	for _, l := range s.Lines {
		w.Next()
		w.List(2)
		w.Next()
		w.Text(l.File)
		w.Next()
		w.Unsigned(uint64(max(l.Line, 0)))
		w.EndList()
	}
	w.EndList()
	w.Wrap(before)
	if hasTimes(s.Sums) {
		times(w, "sums", s.Sums)
	}
	w.EndObject()
}

func shares(w Writer, key string, list []profile.InsideShare) {
	w.Key(key)
	before := w.Wrap(false)
	w.List(len(list))
	for _, s := range list {
		w.Next()
		w.List(3)
		for _, n := range [...]uint64{uint64(s.At), s.Count, s.Amount} {
			w.Next()
			w.Unsigned(n)
		}
		w.EndList()
	}
	w.EndList()
	w.Wrap(before)
}

func writeFigures(w Writer, list []profile.Figure) {
	for _, f := range list {
		number(w, f.Name, *f.Value)
	}
}

// seen are the figures that are not 0.
func seen(list []profile.Figure) (some []profile.Figure) {
	for _, f := range list {
		if *f.Value != 0 {
			some = append(some, f)
		}
	}
	return some
}

// readInside reads and checks it, so that no other code has to.
func readInside(r Reader) *profile.Inside {
	start := r.Here()
	i := &profile.Inside{}
	r.Keep(entrySize)
	for c := r.Object("inside"); c.More; c = r.Next(c) {
		switch string(r.Key()) {
		case "kernel":
			i.Kernel = readInsideKernel(r)
		case "scope":
			i.Scope = readInsideScope(r)
		default:
			r.Skip()
		}
	}
	if err := i.Check(); err != nil {
		r.Fail(start, "inside of a node: %v", err)
	}
	return i
}

func readInsideKernel(r Reader) *profile.InsideKernel {
	k := &profile.InsideKernel{}
	r.Keep(2 * entrySize)
	for c := r.Object("a kernel"); c.More; c = r.Next(c) {
		switch key := r.Key(); string(key) {
		case "builds":
			k.Builds = readBuilds(r)
		case "by_sm":
			k.BySM = readShares(r)
		case "losses":
			for c := r.Object("losses"); c.More; c = r.Next(c) {
				readFigure(r, r.Key(), k.Losses.Figures())
			}
		case "times":
			k.Times = readTimes(r)
		default:
			readFigure(r, key, k.Figures())
		}
	}
	return k
}

func readInsideScope(r Reader) *profile.InsideScope {
	s := &profile.InsideScope{}
	r.Keep(entrySize)
	for c := r.Object("a scope"); c.More; c = r.Next(c) {
		switch key := r.Key(); string(key) {
		case "by_sm":
			s.BySM = readShares(r)
		case "by_warp":
			s.ByWarp = readShares(r)
		case "each":
			s.Each = readTimes(r)
		case "lines":
			s.Lines = readLines(r)
		case "sums":
			s.Sums = readTimes(r)
		default:
			readFigure(r, key, s.Figures())
		}
	}
	return s
}

// readFigure reads the number of that name, or skips what has another.
func readFigure(r Reader, key []byte, list []profile.Figure) {
	for _, f := range list {
		if f.Name == string(key) {
			*f.Value = unsigned(r)
			return
		}
	}
	r.Skip()
}

func readBuilds(r Reader) (list []profile.InsideBuild) {
	for c := r.List("builds"); c.More; c = r.Next(c) {
		var b profile.InsideBuild
		r.Keep(entrySize)
		for c := r.Object("a build"); c.More; c = r.Next(c) {
			switch string(r.Key()) {
			case "arch":
				b.Arch = str(r)
			case "mode":
				b.Mode = str(r)
			case "rings":
				b.Rings = whole(r)
			case "slot_size":
				b.SlotSize = whole(r)
			case "triton":
				b.Triton = str(r)
			case "warps":
				b.Warps = whole(r)
			default:
				r.Skip()
			}
		}
		list = append(list, b)
	}
	return list
}

func readShares(r Reader) (list []profile.InsideShare) {
	for c := r.List("shares"); c.More; c = r.Next(c) {
		start := r.Here()
		var three [3]uint64
		n := 0
		for c := r.List("a share"); c.More; c = r.Next(c) {
			v := unsigned(r)
			if n < len(three) {
				three[n] = v
			}
			n++
		}
		if n != len(three) || three[0] > 1<<32-1 {
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
