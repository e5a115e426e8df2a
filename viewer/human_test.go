package viewer

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestUnitsForPeople: three digits, in the largest unit of which there is at least one.
func TestUnitsForPeople(t *testing.T) {
	rates := flopRate("16")
	for _, c := range []struct {
		q    *quantity
		v    float64
		want string
	}{
		{&times, 9899.08e-6, "9.90 ms"}, {&times, 930e-9, "930 ns"}, {&times, 7e-9, "7 ns"}, {&times, 931.6e-9, "932 ns"}, {&times, 45.12e-9, "45.1 ns"},
		{&times, 999.96e-6, "1.00 ms"}, {&times, 999.4e-6, "999 us"}, {&times, 9.996e-6, "10.0 us"}, {&times, 1, "1.00 s"}, {&times, 12345, "12345 s"},
		{&times, 0, "0"}, {&times, -2.5e-3, "-2.50 ms"}, {&times, 0.25e-9, "0.25 ns"},
		{&byteAmount, 512, "512 B"}, {&byteAmount, 1.5e9, "1.50 GB"}, {&rates, 70.44e12, "70.4 Tflop/s"}, {&flopAmount, 524288, "524 kflop"},
	} {
		if got := string(c.q.append(nil, c.v)); got != c.want {
			t.Errorf("%g is %q, want %q", c.v, got, c.want)
		}
	}
}

// TestUnitsForPeopleSayTheNumber: what is printed, read back with its unit, is the number to three digits.
func TestUnitsForPeopleSayTheNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	for range 10_000 {
		for _, q := range []*quantity{&times, &byteAmount, &flopAmount, &byteRate} {
			largest := q.units[len(q.units)-1].factor
			v := q.units[0].factor * math.Exp(r.Float64()*math.Log(999*largest/q.units[0].factor))
			text := string(q.append(nil, v))
			digits, label, _ := strings.Cut(text, " ")
			read, err := strconv.ParseFloat(digits, 64)
			for _, u := range q.units {
				if u.label == label {
					read *= u.factor
				}
			}
			if err != nil || math.Abs(read-v) > 0.0051*v || len(strings.Replace(digits, ".", "", 1)) != 3 {
				t.Fatalf("%g is printed as %q, which is %g", v, text, read)
			}
		}
	}
}

// TestHumanChangesOpenUnitsOnly: with --human, columns whose unit was asked for, counts and shares stay as they are, and every other
// number is the same but for its unit and its digits.
func TestHumanChangesOpenUnitsOnly(t *testing.T) {
	for _, view := range []string{"tree", "flat", "top", "bottom-up", "table"} {
		o := Options{Metrics: []string{"time/us", "count", "time", "flop16/s", "time/%"}}
		var plain, human bytes.Buffer
		for out, terminal := range map[*bytes.Buffer]Terminal{&plain: {All: true}, &human: {All: true, Human: true}} {
			if _, err := Render(out, load(t, "matmul_triton36"), view, o, terminal); err != nil {
				t.Fatal(err)
			}
		}
		before, after := strings.Split(plain.String(), "\n"), strings.Split(human.String(), "\n")
		if len(before) != len(after) {
			t.Fatalf("%s: %d lines, %d with --human", view, len(before), len(after))
		}
		checked := 0
		for i := range before {
			old, now := strings.Fields(strings.ReplaceAll(before[i], "│", " ")), strings.Fields(strings.ReplaceAll(after[i], "│", " "))
			if view == "table" || len(old) < 6 || !strings.ContainsAny(old[0][:1], "0123456789") {
				continue
			}
			first := 0
			if view == "flat" || view == "top" {
				first = 1 // their column of own time, in us as well
			}
			if strings.Join(old[:first+2], " ") != strings.Join(now[:first+2], " ") {
				t.Errorf("%s: %q became %q", view, before[i], after[i])
			}
			us, _ := strconv.ParseFloat(old[first], 64)
			value, _ := strconv.ParseFloat(now[first+2], 64)
			unit, known := times.byName(now[first+3])
			if !known || math.Abs(value*unit.factor-us*1e-6) > (0.0051*us+0.0501)*1e-6 { // the column of us has one decimal
				t.Errorf("%s: %s us is %s %s with --human", view, old[first], now[first+2], now[first+3])
			}
			checked++
		}
		if checked < 5 && view != "table" {
			t.Errorf("%s: only %d rows were compared\n%s", view, checked, &human)
		}
		if view == "table" && !strings.Contains(human.String(), " ms │") {
			t.Errorf("the table has no units in its cells\n%s", &human)
		}
	}
}

// TestHumanIsForPeople: programs get one unit for a column, and a threshold needs one.
func TestHumanIsForPeople(t *testing.T) {
	for _, c := range []struct {
		view string
		o    Options
		want string
	}{
		{"csv", Options{}, "the csv view does not take it"}, {"json", Options{}, "the json view does not take it"}, {"flame", Options{}, "the flame view does not take it"},
		{"tree", Options{Threshold: 3}, "name one, for example -m time/ms"}, {"tree", Options{Threshold: 3, Metrics: []string{"time/us"}}, ""}, {"tree", Options{Threshold: 3, Metrics: []string{"count"}}, ""},
	} {
		var out bytes.Buffer
		_, err := Render(&out, load(t, "matmul_triton36"), c.view, c.o, Terminal{Human: true})
		if text := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(text, c.want) && c.want != "" {
			t.Errorf("%s: %v, want %q", c.view, err, c.want)
		}
	}
}
