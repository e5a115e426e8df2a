package chrometrace

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile/internal/lanes"
)

func TestTimesWithFaults(t *testing.T) {
	for text, want := range map[string]struct {
		ns    int64
		fault lanes.TimeFault
	}{
		"0": {}, "1.5": {ns: 1500}, "-2.5": {ns: -2500}, "0.0004": {}, "0.0005": {ns: 1}, "0.0014999": {ns: 1}, "1.9999": {ns: 2000}, "12.": {ns: 12_000},
		"1e3": {ns: 1_000_000}, "1.5e-1": {ns: 150}, "4396966732493.777": {ns: 4396966732493777}, "1.782700000000000123e15": {ns: 1782700000000000123},
		"1782700000000000.0015": {ns: 1782700000000000002}, "0000000000000000000012": {ns: 12_000}, "2305843009213693.952": {ns: lanes.FarAway},
		"2305843009213693.953": {lanes.FarAway, lanes.OutOfRange}, "9223372036854775": {lanes.FarAway, lanes.OutOfRange},
		"-9223372036854775.807": {-lanes.FarAway, lanes.OutOfRange}, "12345678901234567": {lanes.FarAway, lanes.OutOfRange},
		"1e300": {lanes.FarAway, lanes.OutOfRange}, "-1e99999999999999999999": {-lanes.FarAway, lanes.OutOfRange}, "1e-99999999999999999999": {},
		"": {fault: lanes.NoTime}, "-": {fault: lanes.NoTime}, "x": {fault: lanes.NoTime}, "1.x": {fault: lanes.NoTime}, "1.2.3": {fault: lanes.NoTime},
		".": {fault: lanes.NoTime}, "e5": {fault: lanes.NoTime}, "1e": {fault: lanes.NoTime}, "nan": {fault: lanes.NoTime}, "-nan": {fault: lanes.NoTime},
		"NaN": {fault: lanes.NoTime}, "Infinity": {fault: lanes.NoTime}, "null": {fault: lanes.NoTime}, "--1": {fault: lanes.NoTime}, "0x10": {fault: lanes.NoTime},
	} {
		if ns, fault := parseMicros([]byte(text)); ns != want.ns || fault != want.fault {
			t.Errorf("%q us is %d ns with fault %d, want %d with %d", text, ns, fault, want.ns, want.fault)
		}
	}
}

// TestTimesAreReadExactly compares with rational arithmetic. What is less than a ns is rounded half away from zero.
func TestTimesAreReadExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 200_000 {
		text := randomMicros(r)
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is not a number", text)
		}
		exact.Mul(exact, big.NewRat(1000, 1))
		half := big.NewRat(int64(exact.Sign()), 2)
		exact.Add(exact, half)
		want := new(big.Int).Quo(exact.Num(), exact.Denom()) // rounds toward zero
		ns, fault := parseMicros([]byte(text))
		if limit := big.NewInt(lanes.FarAway); want.CmpAbs(limit) > 0 {
			if fault != lanes.OutOfRange || ns != int64(want.Sign())*lanes.FarAway {
				t.Fatalf("%s us is %d ns with fault %d, want it out of range", text, ns, fault)
			}
		} else if fault != lanes.NoFault || !want.IsInt64() || want.Int64() != ns {
			t.Fatalf("%s us is %d ns with fault %d, want %s", text, ns, fault, want)
		}
	}
}

// randomMicros has any number of digits, and more often than not those of times since 1970.
func randomMicros(r *rand.Rand) string {
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + r.IntN(10))
		}
		return string(b)
	}
	text := digits(1 + r.IntN(20))
	if r.IntN(2) == 0 {
		text = "1" + digits(15)
	}
	if r.IntN(3) > 0 {
		text += "." + digits(1+r.IntN([]int{3, 9, 25}[r.IntN(3)]))
	}
	switch r.IntN(8) {
	case 0:
		text += fmt.Sprintf("e%d", r.IntN(40)-20)
	case 1:
		text = "-" + text
	case 2:
		text += "E+2"
	}
	return text
}

// TestEventsWithTimeFaults: a file with times that are none is read, and each event says what is wrong with its times.
func TestEventsWithTimeFaults(t *testing.T) {
	for text, want := range map[string][2]lanes.TimeFault{
		`"ts":1,"dur":2`:                               {},
		`"ts":"1782700000000000.5","dur":"3"`:          {},
		`"dur":2`:                                      {lanes.NoTime, 0},
		`"ts":NaN,"dur":NaN`:                           {lanes.NoTime, lanes.NoTime},
		`"ts":null,"dur":null`:                         {lanes.NoTime, lanes.NoTime},
		`"ts":"","dur":true`:                           {lanes.NoTime, lanes.NoTime},
		`"ts":1,"dur":-1`:                              {0, lanes.Negative},
		`"ts":1,"dur":-9223372036854775807`:            {0, lanes.OutOfRange},
		`"ts":1,"dur":9223372036854775`:                {0, lanes.OutOfRange},
		`"ts":1e18,"dur":1`:                            {lanes.OutOfRange, 0},
		`"ts":9223372036854775807,"dur":1782700000000`: {lanes.OutOfRange, 0},
	} {
		d := newReader(strings.NewReader(`{"ph":"X",` + text + `}`))
		if d.readEvent(); d.Err != nil || d.e.StartFault != want[0] || d.e.DurationFault != want[1] || d.e.duration < 0 {
			t.Errorf("%s: faults %d and %d, duration %d, error %v; want %v", text, d.e.StartFault, d.e.DurationFault, d.e.duration, d.Err, want)
		}
	}
}

// TestWallClockTimes: durations of slices with a begin and an end, and gaps between slices, are exact also since 1970.
func TestWallClockTimes(t *testing.T) {
	for _, base := range []string{"1782700000000000", "0", "17827000000", "2200000000000000"} {
		for _, quote := range []string{"", `"`} {
			at := func(us string) string {
				b, _ := new(big.Rat).SetString(base)
				d, _ := new(big.Rat).SetString(us)
				return quote + b.Add(b, d).FloatString(3) + quote
			}
			p := read(t, fmt.Sprintf(`[{"ph":"B","name":"outer","pid":1,"tid":1,"ts":%s},{"ph":"X","name":"inner","pid":1,"tid":1,"ts":%s,"dur":0.001},
				{"ph":"E","pid":1,"tid":1,"ts":%s}]`, at("0.001"), at("1.002"), at("3.003")))
			s := p.Timeline.Slices
			if s[0].Duration != 3002 || s[1].Start-s[0].Start != 1001 || s[1].Duration != 1 {
				t.Errorf("from %s us: %+v", base, s)
			}
			if again := read(t, written(t, p)).Timeline.Slices; again[0].Start != s[0].Start || again[1].Start != s[1].Start || again[0].Duration != 3002 {
				t.Errorf("from %s us, written and read: %+v, want %+v", base, again, s)
			}
		}
	}
}
