package control

// Running reports whether the session of `proton run` exists in this process.
func (s *Service) Running() bool { return s.run != nil }

// AtExit writes what unfinished sessions have when the process ends.
func (s *Service) AtExit() {
	if s.run != nil {
		s.runEnd(nil)
	}
	s.Manager.Finalize(nil, "")
}

// WriteWhatThereIs writes every session without asking the GPU library for anything.
func (s *Service) WriteWhatThereIs() error {
	_, err := s.Manager.WriteDrained()
	return err
}
