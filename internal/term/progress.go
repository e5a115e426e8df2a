package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/figures"
)

// Progress tells a person how far long work is: nothing in the first two seconds; then, on a terminal, one line that is
// written over, and elsewhere a line every ten seconds, for logs. Its methods may be called by several goroutines.
type Progress struct {
	out      io.Writer
	what     string
	terminal bool
	now      func() time.Time

	mu      sync.Mutex // guards what follows
	start   time.Time
	last    time.Time // when a line was written
	width   int       // of the line on the terminal
	stopped bool
}

const (
	quietTime   = 2 * time.Second
	terminalGap = 200 * time.Millisecond
	logGap      = 10 * time.Second
)

// NewProgress begins; what is put before every line.
func NewProgress(out io.Writer, what string) *Progress {
	return newProgress(out, what, IsTerminal(out), time.Now)
}

func newProgress(out io.Writer, what string, terminal bool, now func() time.Time) *Progress {
	return &Progress{out: Raw(out), what: what, terminal: terminal, now: now, start: now()}
}

// Report says how many of how many bytes are done.
func (p *Progress) Report(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	gap := logGap
	if p.terminal {
		gap = terminalGap
	}
	since := p.last
	if since.IsZero() && !p.terminal {
		since = p.start
	}
	if p.stopped || now.Sub(p.start) < quietTime || now.Sub(since) < gap {
		return
	}
	p.last = now
	line := fmt.Sprintf("%s: %s", p.what, figures.Bytes.Text(float64(done)))
	if total > 0 {
		line = fmt.Sprintf("%s: %d%% of %s", p.what, min(100, done*100/total), figures.Bytes.Text(float64(total)))
	}
	if seconds := now.Sub(p.start).Seconds(); done > 0 && total > done {
		line += fmt.Sprintf(", %s left", (time.Duration(seconds*float64(total-done)/float64(done)) * time.Second).String())
	}
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// Stop takes the line off the terminal; nothing is reported after it.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 && !p.stopped {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
	}
	p.stopped = true
}
