// Package pythonpath finds programs that Python packages bring.
package pythonpath

import (
	"os"
	"os/exec"
	"path/filepath"
)

// InPackages looks for a program in a package of the virtual environment, or of the python3 in PATH.
func InPackages(path ...string) string {
	var prefixes []string
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		prefixes = append(prefixes, env)
	}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
	}
	for _, prefix := range prefixes {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			found, _ := filepath.Glob(filepath.Join(append([]string{prefix, "lib", "python3*", packages}, path...)...))
			for _, f := range found {
				if Executable(f) {
					return f
				}
			}
		}
	}
	return ""
}

// Executable says whether a path is a file that may be executed.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
