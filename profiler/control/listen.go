package control

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/goproton/goproton/internal/ctl"
	"github.com/goproton/goproton/profile"
)

// listen lets `proton ctl` reach this process.
func (s *Service) listen() {
	socket, err := ctl.Listen(os.Getenv, s.obey)
	if err != nil {
		s.Manager.Problem(err)
		return
	}
	s.run.socket = socket
	s.Listens(socket.Descriptor())
}

// obey carries out a command of `proton ctl`. The answer comes when launches are recorded, or not any more.
func (s *Service) obey(word string) ctl.Answer {
	switch word {
	case "start":
		s.Manager.Resume()
	case "stop":
		s.Manager.Pause()
	}
	var names []ctl.Kernel
	if word == ctl.Kernels {
		s.Manager.Collect()
		names = s.kernels()
	}
	st := s.Manager.Status()
	a := ctl.Answer{
		PID: os.Getpid(), Command: shortened(command()), Kernels: int64(st.Kernels), Profile: s.Manager.Name(s.run.session), State: ctl.Recording,
	}
	if st.Budget != nil {
		a.Budget, a.Overhead = st.Budget.Budget, st.Budget.Share()
	}
	if word == ctl.Kernels {
		a.Names, a.Nanos, a.At, a.GPU, a.Lost = names, int64(st.GPUNanos), time.Now().UnixNano(), st.GPU, int64(st.Loss.Records+st.Loss.Buffers)
	}
	if w := st.Windows; w != nil {
		a.Windows, a.Seconds, a.Steps = w.Opened, float64(w.Nanos)/1e9, w.Steps
		switch {
		case w.Open:
		case w.Paused:
			a.State = ctl.Paused
		default:
			a.State = ctl.Waiting
		}
	}
	return a
}

// kernels are those with most time so far, over all call paths; nil of a timeline. An answer has room for so many names of this length.
func (s *Service) kernels() (list []ctl.Kernel) {
	const most, longest = 200, 160
	p, err := s.Manager.Current(s.run.session)
	if err != nil {
		return nil
	}
	sums := map[string]*ctl.Kernel{}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		nanos, ran := n.Metric(profile.TimeMetric)
		count, counted := n.Metric(profile.CountMetric)
		if !ran || !counted {
			return true
		}
		k := sums[n.Name]
		if k == nil {
			k = &ctl.Kernel{Name: n.Name}
			sums[n.Name] = k
		}
		k.Count += count.Int()
		k.Nanos += nanos.Int()
		return true
	})
	for _, k := range sums {
		list = append(list, *k)
	}
	slices.SortFunc(list, func(a, b ctl.Kernel) int { return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.Name, b.Name)) })
	list = list[:min(len(list), most)]
	for i := range list {
		if runes := []rune(list[i].Name); len(runes) > longest {
			list[i].Name = string(runes[:longest]) + "…"
		}
	}
	return list
}

// shortened bounds a command line, so that an answer is not too long for the kernel's buffer.
func shortened(text string) string {
	const most = 1000
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
