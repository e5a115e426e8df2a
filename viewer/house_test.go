package viewer

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoCgo: the viewer and the command are one static file that people copy to the machine where they read
// profiles, which has neither our compiler nor the workload's libraries. A cgo package below them ends that.
func TestNoCgo(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is missing:", err)
	}
	cmd := exec.Command(goTool, "list", "-deps", "-f", "{{if .CgoFiles}}{{.ImportPath}}{{end}}", ".", "../cmd/proton")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, out)
	}
	for _, pkg := range strings.Fields(string(out)) {
		if strings.Contains(pkg, ".") { // the standard library's own cgo is optional
			t.Errorf("%s needs cgo and is imported below viewer or cmd/proton; move the import, the static binary must not need it", pkg)
		}
	}
}
