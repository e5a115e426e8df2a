package figures

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(1234.56), "1235"}, {Number(12.3456), "12.35"}, {Number(0.00012345), "0.000123"}, {Number(-1), "-1.000"},
		{Number(math.NaN()), Missing}, {Number(math.Inf(-1)), Missing}, {Number(1000), "1000"}, {Number(999.96), "1000"},
		{Places(-0.004, 2), "0.00"}, {Places(-0.006, 2), "-0.01"}, {Places(math.NaN(), 2), Missing},
		{Signed("0.00"), "0.00"}, {Signed("1.5"), "+1.5"}, {Signed("-1.5"), "-1.5"}, {Signed(Missing), Missing}, {Signed("2 k8"), "+2 k8"}, {Signed("0 k8"), "0 k8"},
		{Change(0.05), "+5.0%"}, {Change(-1), "-100.0%"}, {Change(0.0001), "0.0%"}, {Change(math.Inf(1)), "new"}, {Change(math.NaN()), Missing},
		{Share(0.1234), "12.3%"}, {Share(0), "0.0%"}, {Share(0.0004), "<0.1%"}, {Share(0.0005), "0.1%"}, {Share(-1e-9), "0.0%"}, {Share(math.NaN()), Missing}, {Share(math.Inf(1)), Missing},
		{BriefShare(0.456), "46%"}, {BriefShare(math.NaN()), Missing},
		{Exact(8064.000000000001), "8064"}, {Exact(0.1), "0.1"}, {Exact(math.Inf(1)), ""},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Count(0, "kernel"), "0 kernels"}, {Count(1, "launch"), "1 launch"}, {Count(2, "launch"), "2 launches"}, {Count(int64(12345), "process"), "12,345 processes"},
		{Plural(1, "process was", "processes were"), "1 process was"}, {Plural(1000, "process was", "processes were"), "1,000 processes were"},
		{Grouped(0), "0"}, {Grouped(999), "999"}, {Grouped(1000), "1,000"}, {Grouped(1234567), "1,234,567"}, {Grouped(-1000), "-1,000"}, {Grouped(-100), "-100"},
		{Grouped(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"}, {Grouped(int64(math.MinInt64)), "-9,223,372,036,854,775,808"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestQuantities(t *testing.T) {
	rates := FlopRate("16")
	for _, c := range []struct {
		q    *Quantity
		v    float64
		want string
	}{
		{&Times, 9899.08e-6, "9.899 ms"}, {&Times, 930e-9, "930 ns"}, {&Times, 7e-9, "7 ns"}, {&Times, 931.6e-9, "931.6 ns"}, {&Times, 45.12e-9, "45.12 ns"},
		{&Times, 999.996e-6, "1.000 ms"}, {&Times, 999.4e-6, "999.4 us"}, {&Times, 9.9996e-6, "10.00 us"}, {&Times, 1, "1.000 s"}, {&Times, 12345, "12345 s"},
		{&Times, 0, "0 ns"}, {&Times, -2.5e-3, "-2.500 ms"}, {&Times, 0.25e-9, "0.2500 ns"}, {&Times, math.NaN(), Missing},
		{&Bytes, 512, "512 B"}, {&Bytes, 1.5e9, "1.500 GB"}, {&rates, 70.44e12, "70.44 Tflop/s"}, {&Flops, 524288, "524.3 kflop"},
	} {
		if got := c.q.Text(c.v); got != c.want {
			t.Errorf("%g is %q, want %q", c.v, got, c.want)
		}
	}
	for _, test := range []struct{ got, want string }{
		{Time(999_960), "1.000 ms"}, {Time(999_940), "999.9 us"}, {Time(0), "0 ns"}, {Time(12), "12 ns"}, {Time(12.5), "12.50 ns"}, {Time(-3e6), "-3.000 ms"}, {Time(int64(3_600_000_000_000)), "3600 s"},
		{Amount(1500, "us"), "1.500 ms"}, {Amount(4800, "GB/s"), "4.800 TB/s"}, {Amount(12, ""), "12"}, {Amount(12.5, ""), "12.50"}, {Amount(1.5, "flop/B"), "1.500 flop/B"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
	if Nanos("µs") != 1e3 || Nanos("us") != 1e3 || Nanos("B") != 0 {
		t.Error("a unit of time has another size, or one of data has one")
	}
}

// TestQuantitiesSayTheNumber: what is printed, read back with its unit, is the number to four digits.
func TestQuantitiesSayTheNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	for range 10_000 {
		for _, q := range []*Quantity{&Times, &Bytes, &Flops, &ByteRate} {
			largest := q.Units[len(q.Units)-1].Factor
			v := q.Units[0].Factor * math.Exp(r.Float64()*math.Log(999*largest/q.Units[0].Factor))
			text := q.Text(v)
			digits, label, _ := strings.Cut(text, " ")
			read, err := strconv.ParseFloat(digits, 64)
			for _, u := range q.Units {
				if u.Label == label {
					read *= u.Factor
				}
			}
			if err != nil || math.Abs(read-v) > 0.00051*v || len(strings.Replace(digits, ".", "", 1)) != 4 {
				t.Fatalf("%g is printed as %q, which is %g", v, text, read)
			}
		}
	}
}

func TestForms(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   string // of the first
	}{
		{[]float64{3, 4}, "3"}, {[]float64{3, 4.5}, "3.000"}, {[]float64{1, 1234.5}, "1.00"}, {[]float64{1, 12345.5}, "1.0"}, {[]float64{-0.0001, 4.5}, "0.000"},
		{[]float64{0.00123, 0.02}, "0.0012"}, {[]float64{1e16, 1}, "1e+16"}, {[]float64{math.NaN(), 1}, Missing}, {[]float64{math.Inf(1), 0.5}, Missing}, {nil, "7"},
	} {
		form := FormFor(slices.Values(test.values))
		if got := form.Text(append(test.values, 7)[0]); got != test.want {
			t.Errorf("the first of %v is %q, want %q", test.values, got, test.want)
		}
	}
	if got := FormFor(slices.Values([]float64{1.5})).AtMost(2).Text(1.5); got != "1.50" {
		t.Errorf("with at most 2 decimals: %q", got)
	}
	for _, v := range []float64{2e-13, 1e16} {
		if got, want := FormFor(slices.Values([]float64{v})).AtMost(2).Text(v), strconv.FormatFloat(v, 'g', 5, 64); got != want {
			t.Errorf("%g is %q with at most 2 decimals, want %q", v, got, want)
		}
	}
	if got := InOwnUnits(&Times, 1e-6).Text(1500); got != "1.500 ms" {
		t.Errorf("1500 us in its own unit: %q", got)
	}
}

func TestColumnsKeepFourDigitsBeforeThePoint(t *testing.T) {
	for _, c := range []struct {
		q       *Quantity
		largest float64
		want    string
	}{{&Times, 9999e-6, "us"}, {&Times, 10_000e-6, "ms"}, {&ByteRate, 5, "kB/s"}, {&Times, 1e9, "s"}} {
		if got := c.q.Fit(c.largest).Label; got != c.want {
			t.Errorf("%g is in %s, want %s", c.largest, got, c.want)
		}
	}
}

func TestJSONHasNoNaN(t *testing.T) {
	text, err := json.Marshal([]JSON{8064.000000000001, JSON(math.NaN()), JSON(math.Inf(1))})
	if err != nil || string(text) != "[8064,null,null]" {
		t.Fatalf("%s %v", text, err)
	}
	var back []JSON
	if err := json.Unmarshal(text, &back); err != nil || back[0] != 8064 || Finite(float64(back[1])) {
		t.Errorf("%v %v", back, err)
	}
}

func TestBriefCountsHaveFiveColumns(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 9999: "9999", 9999.5: "10.0k", 52_080: "52.1k", 99_950: "100k", 999_499: "999k", 999_500: "1.0M", 376_339_043: "376M",
		2.5e9: "2.5G", 1.8e19: "18.0E", math.NaN(): Missing, math.Inf(1): Missing,
	} {
		if got := Brief(v); got != want || len(got) > 5 {
			t.Errorf("Brief(%g) = %q, want %q", v, got, want)
		}
	}
}

// TestShortNumbersHaveNoZerosAtTheirEnd: of a column the points stay below each other, whatever is left out.
func TestShortNumbersHaveNoZerosAtTheirEnd(t *testing.T) {
	form := FormFor(slices.Values([]float64{609.303, 12.6})).Short()
	for v, want := range map[float64]string{609.303: "609.303", 12.6: "12.6  ", 160: "160    ", 20.04: "20.04 ", 0: "0    ", math.NaN(): Missing} {
		if got := string(form.Append([]byte("100.0"), v)); got != "100.0"+want {
			t.Errorf("%g is %q after a number, want %q", v, got, want)
		}
	}
	if got := FormFor(slices.Values([]float64{100, 2060})).Short().Text(100); got != "100" {
		t.Errorf("a whole number is %q", got)
	}
	for v, want := range map[float64]string{12600: "12.6 us", 1e6: "1 ms", 900: "900 ns", 42047: "42.05 us"} {
		if got, own := KnownTime(v), InOwnUnits(&Times, 1e-9).Short().Text(v); got != want || own != want {
			t.Errorf("%g ns is %q and in a column %q, want %q", v, got, own, want)
		}
	}
}
