package store

// Writer takes text piece by piece. A piece is valid during the call.
type Writer func(text []byte)

// pieceBytes is how much of a long list is written at a time.
const pieceBytes = 16 << 10

// Pieces gathers text into pieces large enough to be stored.
type Pieces struct {
	Held []byte
	Put  Writer
}

// Write adds text.
func (p *Pieces) Write(text []byte) { p.Hold(append(p.Held, text...)) }

// Hold replaces Held by text, which is Held with more appended, and writes it where it is long enough.
func (p *Pieces) Hold(text []byte) {
	if p.Held = text; len(p.Held) >= pieceBytes {
		p.Flush()
	}
}

// Flush writes what is held.
func (p *Pieces) Flush() {
	p.Put(p.Held)
	p.Held = p.Held[:0]
}
