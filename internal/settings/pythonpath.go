package settings

import (
	"os"
	"os/exec"
	"path/filepath"
)

// InPackages looks for a program in a package of the virtual environment, of the prefix that this executable is installed in, or of the
// python3 in PATH.
func InPackages(path ...string) string {
	var prefixes []string
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		prefixes = append(prefixes, env)
	}
	if executable, err := os.Executable(); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(executable)))
	}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
	}
	for _, folder := range SitePackages(prefixes...) {
		if f := filepath.Join(append([]string{folder}, path...)...); Executable(f) {
			return f
		}
	}
	return ""
}

// Executable says whether a path is a file that may be executed.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// SitePackages returns the package folders below Python prefixes (sys.prefix, or a user's ~/.local), for
// callers that have no interpreter to ask for sys.path.
func SitePackages(prefixes ...string) (folders []string) {
	for _, prefix := range prefixes {
		for _, pattern := range []string{"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages"} {
			found, _ := filepath.Glob(filepath.Join(prefix, pattern)) //nolint:errcheck // a prefix with a bracket in its name has none
			folders = append(folders, found...)
		}
	}
	return folders
}
