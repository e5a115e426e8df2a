package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/runinfo"
)

// outputName returns the template of the profiles' paths, without suffix, and makes its folder. It is absolute
// because the target, or a child of it, may change directory before its runtime opens the file.
func outputName(given, target string) (string, error) {
	if given == "-" {
		return given, nil
	}
	name := given
	for _, suffix := range []string{".hatchet", ".hatchet_msgpack", ".chrome_trace"} {
		name = strings.TrimSuffix(name, suffix) // users type it, and the runtime adds it
	}
	if name == "" || strings.HasSuffix(name, "/") {
		name += literal(target)
	}
	if !filepath.IsAbs(name) {
		here, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("make output name %q absolute: %w; give --name an absolute path", name, err)
		}
		name = filepath.Join(literal(here), name)
	}
	// The process makes a folder whose name depends on the process.
	if folder := filepath.Dir(name); !strings.Contains(strings.ReplaceAll(folder, "%%", ""), "%") {
		if err := os.MkdirAll(strings.ReplaceAll(folder, "%%", "%"), 0o777); err != nil {
			return "", fmt.Errorf("create the folder for profiles: %w; give another --name", err)
		}
	}
	return name, nil
}

// literal escapes a text for a template.
func literal(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// unsetVariable is a warning about a name with a variable that is not set, "" if all are. It is not an error, because a launcher
// may set the variable for its processes.
func unsetVariable(template string, env func(string) string) string {
	if _, err := runinfo.ExpandName(template, runinfo.Process{}, env); err != nil {
		return fmt.Sprintf("%v; a process without this variable is not profiled", err)
	}
	return ""
}
