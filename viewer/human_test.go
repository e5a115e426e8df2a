package viewer

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
)

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
			unit, known := figures.Times.Unit(now[first+3])
			if !known || math.Abs(value*unit.Factor-us*1e-6) > (0.0051*us+0.0501)*1e-6 { // the column of us has one decimal
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
		{"csv", Options{}, "the csv view does not take it"}, {"json", Options{}, "the json view does not take it"},
		{"tree", Options{Threshold: 3}, "name one, for example -m time/ms"}, {"tree", Options{Threshold: 3, Metrics: []string{"time/us"}}, ""}, {"tree", Options{Threshold: 3, Metrics: []string{"count"}}, ""},
	} {
		var out bytes.Buffer
		_, err := Render(&out, load(t, "matmul_triton36"), c.view, c.o, Terminal{Human: true})
		if text := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(text, c.want) && c.want != "" {
			t.Errorf("%s: %v, want %q", c.view, err, c.want)
		}
	}
}
