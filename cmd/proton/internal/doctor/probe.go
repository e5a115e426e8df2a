package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/goproton/goproton/internal/awake"
	"github.com/goproton/goproton/internal/settings"
)

// probeAnswer is what proton-probe prints.
type probeAnswer struct {
	Driver struct {
		Loaded      bool   `json:"loaded"`
		Error       string `json:"error"`
		CUDAVersion int    `json:"cuda_version"`
		Init        int    `json:"init"`
		Devices     []GPU  `json:"devices"`
	} `json:"driver"`
	CUPTI struct {
		Loaded    bool   `json:"loaded"`
		Error     string `json:"error"`
		Version   int    `json:"version"`
		Subscribe int    `json:"subscribe"`
	} `json:"cupti"`
}

// probe asks the driver, and one libcupti if a path is given, in a process of their own.
func (m Machine) probe(library string) (probeAnswer, error) {
	if m.Probe == "" {
		return probeAnswer{}, errors.New("proton-probe is not next to the proton command")
	}
	var args []string
	if library != "" {
		args = []string{library}
	}
	var answer probeAnswer
	err := m.askJSON(&answer, withoutOurselves(os.Environ()), m.Probe, args...)
	return answer, err
}

// withoutOurselves drops an injection that "proton run" has put into the environment: the doctor under
// "proton run" is to find other subscribers, not us.
func withoutOurselves(environment []string) []string {
	if settings.RunConfig.Get(os.Getenv) == "" {
		return environment
	}
	var kept []string
	for _, entry := range environment {
		if !strings.HasPrefix(entry, "CUDA_INJECTION64_PATH=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// askJSON runs a program that prints one JSON value.
func (m Machine) askJSON(answer any, environment []string, path string, args ...string) error {
	ctx, cancel := awake.Context(context.Background(), m.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environment
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("run %s: no answer within %s", path, m.Timeout)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w %s", path, err, lastLine(stderr.String()))
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
