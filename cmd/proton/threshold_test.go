package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// All commands take a share, a time, or a number as a threshold, and refuse the same texts.
func TestThresholdsOfAllCommands(t *testing.T) {
	matmul := filepath.Join(recorded(t), "matmul.hatchet")
	other := filepath.Join(t.TempDir(), "other.hatchet")
	text := testkit.Read(t, matmul)
	another := strings.Replace(text, `"pid": "`, `"pid": "9`, 1) // which the gate takes for another run
	if err := os.WriteFile(other, []byte(another), 0o666); err != nil || another == text {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"viewer", "-t", "VALUE", matmul}, {"diff", "-t", "VALUE", matmul, other}, {"merge", "--imbalance", "-t", "VALUE", matmul, other}, {"gate", "--min-time", "VALUE", "--baseline", matmul, "--", other}} {
		for _, value := range []string{"5%", "0.5%", "1ms", "10us", "0.001 s", "0"} {
			var said bytes.Buffer
			line := strings.ReplaceAll(strings.Join(words, "\x00"), "VALUE", value)
			root := newRoot()
			if err := quietly(root, &said, strings.Split(line, "\x00")...); err != nil {
				t.Errorf("%s with %s: %v", words[0], value, err)
			}
		}
		for _, value := range []string{"5parsec", "-1", "%", "nan"} {
			var said bytes.Buffer
			line := strings.ReplaceAll(strings.Join(words, "\x00"), "VALUE", value)
			if code := execute(append([]string{"proton"}, strings.Split(line, "\x00")...), &said); code != 2 || !strings.Contains(said.String(), "5%") && !strings.Contains(said.String(), "0.1%") {
				t.Errorf("%s with %s: exit code %d, %s", words[0], value, code, said.String())
			}
		}
	}
}

// A share is of what the whole program has, and a time is in its own unit whatever the column's.
func TestViewerThreshold(t *testing.T) {
	matmul := filepath.Join(recorded(t), "matmul.hatchet")
	rows := func(words ...string) int {
		var out bytes.Buffer
		if err := quietly(newViewerCommand(), &out, append(words, "--view", "csv", matmul)...); err != nil {
			t.Fatal(err)
		}
		return strings.Count(out.String(), "\n")
	}
	all, some := rows(), rows("-t", "10%")
	if some >= all || some < 3 {
		t.Errorf("%d of %d rows have 10%% or more", some, all)
	}
	for _, m := range []string{"time/ns", "time/s"} {
		if a, b := rows("-m", "time/us", "-t", "1000"), rows("-m", m, "-t", "1ms"); a != b || a >= all {
			t.Errorf("-t 1ms of %s shows %d rows, 1000 us %d of %d", m, b, a, all)
		}
	}
}
