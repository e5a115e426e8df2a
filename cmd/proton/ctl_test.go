package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/ctl"
)

func TestAnswerHasTheOverhead(t *testing.T) {
	cmd := newCtlCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	answer := ctl.Answer{PID: 7, State: ctl.Recording, Windows: 1, Kernels: 12, Command: "train.py"}
	for _, budget := range []float64{0, 0.01} {
		out.Reset()
		answer.Budget, answer.Overhead = budget, budget*0.84
		if err := printAnswer(cmd, answer, false); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(out.String(), ", overhead 0.84% of a budget of 1.0%: train.py"); said != (budget > 0) {
			t.Errorf("a budget of %g: %s", budget, out.String())
		}
	}
}
