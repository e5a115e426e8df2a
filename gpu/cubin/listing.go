package cubin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/procstat"
)

// listingPatience is the time limit for a whole binary: the listing of a large kernel with its lines takes seconds.
const listingPatience = 2 * time.Minute

// Disassembly makes the listing of SASS that a TritonParse trace has: the code of all functions of a binary. The variables that have the
// driver load a library into other programs are not for the disassembler.
func Disassembly(tool, file string) string {
	limit, cancel := procstat.Context(context.Background(), listingPatience)
	defer cancel()
	command := exec.CommandContext(limit, tool, "-c", "-gp", "-g", "-gi", file)
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "CUDA_INJECTION64_PATH=") || strings.HasPrefix(entry, "LD_PRELOAD=")
	})
	var complaint strings.Builder
	command.Stderr = &complaint
	listing, err := command.Output()
	if err != nil {
		return fmt.Sprintf("<nvdisasm failed: %v %s>", err, strings.TrimSpace(complaint.String()))
	}
	return functionsOf(string(listing))
}

var globalSymbol = regexp.MustCompile(`^\s*\.global\s+(\w+)`)

// functionsOf keeps the code of a listing: of each function with a name of its own, "Function:" and the name, then its
// lines up to the next section. TritonParse stops after the first.
func functionsOf(listing string) string {
	var out strings.Builder
	lines := strings.Split(listing, "\n")
	for i := 0; i < len(lines); {
		m := globalSymbol.FindStringSubmatch(lines[i])
		if i++; m == nil {
			continue
		}
		at := i
		for at < len(lines) && strings.TrimSpace(lines[at]) != ".text."+m[1]+":" {
			at++
		}
		if at == len(lines) {
			continue
		}
		out.WriteString("Function:" + m[1] + "\n")
		for at++; at < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[at]), ".headerflags"); at++ {
			if at == len(lines)-1 && lines[at] == "" {
				continue // what follows the last line end is not a line
			}
			out.WriteString(strings.TrimRight(lines[at], " \t\r") + "\n")
		}
		out.WriteString("\n")
	}
	return out.String()
}
