package agent

import "os"

func interrupt(p *os.Process) error { return p.Kill() }
