package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/runinfo"
)

// Attach begins the session that `proton attach` asks for, and returns when it has ended.
func (s *Service) Attach(config string) error {
	if _, err := s.runAttach(attached{Config: config}); err != nil {
		return err
	}
	s.AwaitAttached()
	return nil
}

// AwaitAttached returns when the session of `proton attach` has ended.
func (s *Service) AwaitAttached() {
	if s.run != nil && s.run.over != nil {
		<-s.run.over
	}
}

// runAttach is run.begin for a process that runs already. The session ends after its time, when `proton attach` asks for that, or with
// the process.
func (s *Service) runAttach(p attached) (any, error) {
	if s.run != nil && !s.run.done {
		return nil, errors.New("it is profiled by proton run, or by another proton attach, already")
	}
	text, err := ownfile.ReadFile(p.Config)
	if err != nil {
		return nil, err
	}
	var c runinfo.Config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read %s: %w; it is written by proton attach", p.Config, err)
	}
	c.Ctl = true // for proton top
	answer, err := s.beginRun(c, p.begun)
	if err != nil {
		return nil, err
	}
	s.run.over = make(chan struct{})
	go s.untilAttachedEnds(s.run)
	return answer, nil
}

func (s *Service) untilAttachedEnds(r *run) {
	defer close(r.over)
	const look = 50 * time.Millisecond
	asked := filepath.Join(r.config.Status, "end")
	for left := time.Duration(r.config.Duration * float64(time.Second)); left > 0; left -= look {
		time.Sleep(look)
		if _, err := os.Stat(asked); err == nil || r.done {
			break
		}
	}
	err := s.patiently(Patience(), func() error {
		_ = s.Manager.Deactivate(&r.session, false) // the program goes on to launch, and the report and the file are to agree
		return s.endRun()
	})
	if err == errImpatient || err == errInterrupted {
		_ = s.writeDrained("the GPU finished nothing for a while at the end of the time") // the file says so
	}
}
