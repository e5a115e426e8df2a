package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/settings"
)

// withoutOurselves drops an injection that "proton run" has put into the environment: the doctor under
// "proton run" is to find other subscribers, not us.
func withoutOurselves(environment []string) []string {
	if settings.RunConfig.Get(os.Getenv) == "" {
		return environment
	}
	return slices.DeleteFunc(environment, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(vendors.Injections(), name)
	})
}

// askJSON runs a program that prints one JSON value.
func (m Machine) askJSON(answer any, environment []string, path string, args ...string) error {
	ctx, cancel := procstat.Context(context.Background(), m.Timeout)
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
