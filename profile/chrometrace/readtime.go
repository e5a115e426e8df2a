package chrometrace

import (
	"cmp"
	"errors"
	"math"
	"strconv"

	"github.com/goproton/goproton/profile/internal/lanes"
)

// micros reads a time or duration in microseconds, a number or a text, as ns. Recorders that break write NaN, null, or more than
// there is room for: such a time is marked, and the rest of the file is read.
func (d *reader) micros() (ns int64, fault lanes.TimeFault) {
	var token []byte
	switch d.Peek() {
	case '"':
		token = d.Str("a time")
	case '{', '[':
		d.Unexpected("a time in microseconds")
	default:
		if token = d.Token(); len(token) == 0 {
			d.Unexpected("a time in microseconds")
		}
	}
	return parseMicros(token)
}

// length reads the duration of an event. That of an operation which had not ended when torch wrote its trace is -1, or the end minus a
// start that is not known.
func (d *reader) length() {
	d.e.duration, d.e.DurationFault = d.micros()
	if d.e.duration < 0 {
		d.e.duration, d.e.DurationFault = 0, max(d.e.DurationFault, lanes.Negative)
	}
}

// parseMicros turns decimal microseconds into ns. It rounds only what is less than a ns. A time with a fault is the nearest one that
// there is.
func parseMicros(token []byte) (int64, lanes.TimeFault) {
	digits, negative := token, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	const mostDigits = 16 // so that the whole number times 1000 fits
	i, ns := 0, uint64(0)
	for ; i < len(digits) && i < mostDigits && digits[i] >= '0' && digits[i] <= '9'; i++ {
		ns = ns*10 + uint64(digits[i]-'0')
	}
	if ns *= 1000; i == len(digits) && i > 0 {
		return signed(ns, negative)
	}
	if i == 0 || digits[i] != '.' {
		return parseAnyMicros(digits, negative)
	}
	scale := uint64(100)
	for n, c := range digits[i+1:] {
		switch {
		case c < '0' || c > '9':
			return parseAnyMicros(digits, negative)
		case n < 3:
			ns += uint64(c-'0') * scale
			scale /= 10
		case n == 3 && c >= '5':
			ns++
		}
	}
	return signed(ns, negative)
}

// signed returns a time that is not out of range, or else the nearest one.
func signed(ns uint64, negative bool) (time int64, fault lanes.TimeFault) {
	if time = int64(min(ns, lanes.FarAway)); ns > lanes.FarAway {
		fault = lanes.OutOfRange
	}
	if negative {
		time = -time
	}
	return time, fault
}

// parseAnyMicros reads the rare forms of a number, behind its sign: exponents, and more digits than a time needs. What is not a number
// has the fault NoTime.
func parseAnyMicros(text []byte, negative bool) (int64, lanes.TimeFault) {
	mantissa, exponent := uint64(0), 3 // ns are mantissa · 10^exponent
	next := byte(0)                    // the first digit that the mantissa has no room for
	seen, point := false, false
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			seen = true
			if mantissa < 1e18 {
				mantissa = mantissa*10 + uint64(c-'0')
				if point {
					exponent--
				}
				continue
			}
			next = cmp.Or(next, c)
			if !point {
				exponent++
			}
			continue
		case c == '.' && !point:
			point = true
			continue
		case (c == 'e' || c == 'E') && seen:
			power, err := strconv.Atoi(string(text[i+1:]))
			if err == nil || errors.Is(err, strconv.ErrRange) {
				return signed(shift(mantissa, next, exponent+min(max(power, -1<<30), 1<<30)), negative)
			}
		}
		return 0, lanes.NoTime
	}
	if !seen {
		return 0, lanes.NoTime
	}
	return signed(shift(mantissa, next, exponent), negative)
}

// shift returns n · 10^exponent, rounded by the digit behind n, or something that is out of range if that is.
func shift(n uint64, next byte, exponent int) uint64 {
	switch {
	case n == 0 || exponent < -19:
		return 0
	case exponent == 0 && next >= '5':
		return n + 1
	}
	for ; exponent > 0; exponent-- {
		if n > lanes.FarAway/10 {
			return math.MaxUint64
		}
		n *= 10
	}
	by := uint64(1)
	for ; exponent < 0; exponent++ {
		by *= 10
	}
	rest := n % by
	if n /= by; rest >= by-rest && by > 1 {
		n++
	}
	return n
}
