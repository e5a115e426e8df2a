package tritonparse

// writer takes text piece by piece. A piece is valid during the call.
type writer func(text []byte)

// pieceBytes is how much of a long list is written at a time.
const pieceBytes = 16 << 10

// pieces gathers text into pieces that are worth to be put away.
type pieces struct {
	held []byte
	put  writer
}

func (p *pieces) write(text []byte) { p.hold(append(p.held, text...)) }

// hold takes what held has become.
func (p *pieces) hold(text []byte) {
	if p.held = text; len(p.held) >= pieceBytes {
		p.flush()
	}
}

func (p *pieces) flush() {
	p.put(p.held)
	p.held = p.held[:0]
}
