package store

// Writer takes text piece by piece. A piece is valid during the call.
type Writer func(text []byte)

// pieceBytes is how much of a long list is written at a time.
const pieceBytes = 16 << 10

// Pieces gathers text into pieces of a size worth storing, and passes them to Put.
type Pieces struct {
	Held []byte
	Put  Writer
}

func (p *Pieces) Write(text []byte) { p.Hold(append(p.Held, text...)) }

// Hold takes Held with more text appended, and passes it on if it is long enough.
func (p *Pieces) Hold(text []byte) {
	if p.Held = text; len(p.Held) >= pieceBytes {
		p.Flush()
	}
}

func (p *Pieces) Flush() {
	p.Put(p.Held)
	p.Held = p.Held[:0]
}
