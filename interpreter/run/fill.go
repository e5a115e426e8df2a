package run

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goproton/goproton/triton/ttir"
)

// Fill makes up the elements of a buffer: a constant (0 if nothing is said), the numbers 0, 1, 2 and so on, or random ones.
type Fill struct {
	Constant *Number `json:"constant,omitempty"`
	Iota     bool    `json:"iota,omitempty"`
	Uniform  bool    `json:"uniform,omitempty"` // from 0 to 1; integers from 0 to 99
	Normal   bool    `json:"normal,omitempty"`  // mean 0, deviation 1
	Seed     uint64  `json:"seed,omitempty"`
}

const maxFilled = 1 << 34

func (b *Buffer) filled() ([]byte, error) {
	if b.Bytes < 0 || b.Bytes > maxFilled {
		return nil, fmt.Errorf("it has neither a file nor a number of bytes from 0 to %d: bytes is %d", int64(maxFilled), b.Bytes)
	}
	data := make([]byte, b.Bytes)
	if b.Fill == nil || *b.Fill == (Fill{Seed: b.Fill.Seed}) {
		return data, nil
	}
	kinds := 0
	for _, given := range []bool{b.Fill.Constant != nil, b.Fill.Iota, b.Fill.Uniform, b.Fill.Normal} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		return nil, fmt.Errorf("it has %d kinds of fill: give one of constant, iota, uniform and normal", kinds)
	}
	e, known := elements[b.Type]
	if !known {
		return nil, fmt.Errorf("elements of the type %q cannot be made up", b.Type)
	}
	t, f, random := ttir.Parse("").Type(b.Type), b.Fill, rand.New(rand.NewPCG(b.Fill.Seed, 3))
	for i := 0; i+e.size <= len(data); i += e.size {
		v := 0.0
		switch {
		case f.Constant != nil && f.Constant.IsFloat:
			v = f.Constant.Float
		case f.Constant != nil:
			v = float64(f.Constant.Int)
		case f.Iota:
			v = float64(i / e.size)
		case f.Normal:
			v = random.NormFloat64()
		default:
			if v = random.Float64(); b.Type[0] == 'i' {
				v = math.Floor(100 * v)
			}
		}
		put(data[i:i+e.size], t, v)
	}
	return data, nil
}

// put stores a number as an element of a type.
func put(raw []byte, t *ttir.Type, v float64) {
	bits := uint64(int64(v))
	if t.Kind == ttir.FloatType {
		bits = t.Float.Pattern(v)
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], bits)
	copy(raw, all[:])
}
