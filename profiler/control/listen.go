package control

import (
	"os"

	"github.com/goproton/goproton/internal/ctl"
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
	st := s.Manager.Status()
	a := ctl.Answer{
		PID: os.Getpid(), Command: shortened(command()), Windows: st.Windows.Opened, Seconds: float64(st.Windows.Nanos) / 1e9,
		Steps: st.Windows.Steps, Kernels: int64(st.Kernels), Profile: s.Manager.Name(s.run.session), State: ctl.Waiting,
	}
	if st.Budget != nil {
		a.Budget, a.Overhead = st.Budget.Budget, st.Budget.Share()
	}
	switch {
	case st.Windows.Open:
		a.State = ctl.Recording
	case st.Windows.Paused:
		a.State = ctl.Paused
	}
	return a
}

// shortened bounds a command line, so that an answer is not too long for the kernel's buffer.
func shortened(text string) string {
	const most = 1000
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
