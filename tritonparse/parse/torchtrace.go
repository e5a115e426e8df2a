package parse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// torchPrefix is in the names of the logs that torch writes under TORCH_TRACE.
const torchPrefix = "dedicated_log_torch_trace_"

// torchCompilations says, by torch's own trace, which of torch.compile's compilations generated a file of kernels.
type torchCompilations map[string]string // path of the file to the name of the output, see inductorFile

// readTorchTraces reads the logs in folders. It warns of those that cannot be read and leaves them out.
func readTorchTraces(folders []string, warn func(string)) torchCompilations {
	all := torchCompilations{}
	var seen []string
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // who reads the trace says that it is not there
			warn("logs of torch are not read: " + err.Error())
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if !strings.Contains(e.Name(), torchPrefix) || !strings.HasSuffix(e.Name(), ".log") || !ndjson.IsFile(path, e) || slices.Contains(seen, path) {
				continue
			}
			seen = append(seen, path)
			if err := all.read(path); err != nil {
				warn("logs of torch: " + err.Error())
			}
		}
	}
	return all
}

func (t torchCompilations) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.scan(f)
}

// scan goes through a log: records begin with a line that ends with JSON, and go on in lines that begin with a tab.
func (t torchCompilations) scan(f io.Reader) error {
	lines := bufio.NewReaderSize(f, 64<<10)
	output := "" // of the record of generated code that goes on
	for {
		line, err := readLine(lines)
		switch {
		case bytes.HasPrefix(line, []byte("\t")):
			path, ok := bytes.CutPrefix(line[1:], []byte("# kernel path: "))
			if p := string(bytes.TrimSpace(path)); ok && output != "" && p != "" {
				t[p] = output
			}
		case len(line) > 0:
			output = ""
			if _, text, ok := bytes.Cut(line, []byte("] ")); ok && jsontext.Valid(text) == nil {
				if info := bytes.TrimSpace(text); jsontext.Get(info, "inductor_output_code") != nil {
					output = inductorFile(info, quirks.None)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// maxLogLine is how much of a line of a log is looked at.
const maxLogLine = 4 << 20

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) <= maxLogLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\n"), err
		}
	}
}

// find looks a compilation up by the file of its kernel, then by the files of torch.compile's in its stack.
func (t torchCompilations) find(python string, stack []byte) string {
	if len(t) == 0 {
		return ""
	}
	if name := t[python]; name != "" {
		return name
	}
	for _, f := range jsontext.Elements(stack) {
		file := jsontext.Text(jsontext.Get(f, "filename"))
		if strings.Contains(file, "torchinductor") && strings.HasSuffix(file, ".py") && t[file] != "" {
			return t[file]
		}
	}
	return ""
}
