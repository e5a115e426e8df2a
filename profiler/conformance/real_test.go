package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// realROCtracer returns a folder with the fake HIP and the real libroctracer64 that tools/rocm.sh builds.
func realROCtracer(t *testing.T) string {
	testkit.OnlyInCheck(t, "tools/rocm.sh builds libroctracer64")
	stub, folder := stubFolder(t, "hip"), t.TempDir()
	for name, file := range map[string]string{
		"libroctracer64.so.4": rocm(t, "roctracer-6.4/made/libroctracer64.so.4"),
		"libamdhip64.so.6":    stub + "/libamdhip64.so.6", "libroctx64.so.4": stub + "/libroctx64.so.4",
	} {
		if err := os.Symlink(file, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// rocm is a file that tools/rocm.sh fetches or builds.
func rocm(t *testing.T, path string) string {
	t.Helper()
	path = filepath.Join(testkit.Root(t), ".venv/oracles/rocm", path)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%v: run tools/rocm.sh where Debian's archive can be reached", err)
	}
	return path
}

// fakeOnly are the environments in which the fake libroctracer64 misbehaves.
var fakeOnly = regexp.MustCompile(`PROTON_STUB_(ROCTRACER|RESULTS=roctracer|SCRIPT=[^h])`)

// TestRealROCtracer runs the other stories under AMD's library on the fake HIP.
func TestRealROCtracer(t *testing.T) {
	folder := realROCtracer(t)
	for _, story := range slices.Concat(hipStories, roctracerStories) {
		if fakeOnly.MatchString(story.environment) || story.name == launchesOfHIP7 {
			continue
		}
		t.Run(story.name, func(t *testing.T) { runHIPStory(t, "roctracer", folder, story.environment, story.program, story.want) })
	}
}

// TestRealROCtracerBehaves runs the table of behaviours under it, with a forked child, in a process of its own.
func TestRealROCtracerBehaves(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^TestBackends$/^roctracer$")
	cmd.Env = append(os.Environ(), "HIP_STUB="+realROCtracer(t))
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "--- PASS: TestBackends/roctracer/"); err != nil || n != len(behaviours) {
		t.Errorf("%v, %d of %d behaviours\n%s", err, n, len(behaviours), out)
	}
}

// TestRealROCTX runs the program with ranges with Debian's libroctx64.
func TestRealROCTX(t *testing.T) {
	stub := stubFolder(t, "hip")
	for _, version := range []string{"5.7", "6.4", "7.2"} {
		t.Run(version, func(t *testing.T) {
			library := "ROCTX=" + rocm(t, "roctx-"+version+"/usr/lib/x86_64-linux-gnu/libroctx64.so.4")
			for _, backend := range []string{"roctracer", "rocprofiler"} {
				t.Run(backend, func(t *testing.T) { runHIPStory(t, backend, stub, library, ranges, rangesOutline) })
			}
			t.Run("and the real roctracer", func(t *testing.T) { runHIPStory(t, "roctracer", realROCtracer(t), library, ranges, rangesOutline) })
		})
	}
}

// register returns the command that runs a program with the C library of Debian 13, which librocprofiler-register needs, and that library.
func register(t *testing.T) (by []string, library string) {
	testkit.OnlyInCheck(t, "tools/rocm.sh fetches librocprofiler-register")
	library = rocm(t, "register/register/usr/lib/x86_64-linux-gnu/librocprofiler-register.so.0")
	var folders []string
	for line := range strings.Lines(testkit.Read(t, "../../tools/rocm.txt")) {
		if folder, _, _ := strings.Cut(line, " "); strings.HasPrefix(folder, "register/") {
			folders = append(folders, rocm(t, folder+"/usr/lib/x86_64-linux-gnu"))
		}
	}
	return []string{rocm(t, "register/libc6/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), "--library-path", strings.Join(folders, ":")}, library
}

// TestRealRegister runs the stories of rocprofiler-sdk where the fake HIP hands out its functions through AMD's
// librocprofiler-register, which finds the fake librocprofiler-sdk that the room has registered with.
func TestRealRegister(t *testing.T) {
	by, library := register(t)
	another := strings.Join(append(slices.Clone(by), stubFolder(t, "hip")+"/fake-program"), " ")
	for _, story := range hipStories {
		t.Run(story.name, func(t *testing.T) {
			environment := "PROTON_STUB_REGISTER=" + library + ", RUN=" + another
			if story.environment != "" {
				environment += ", " + story.environment
			}
			runHIPStoryBy(t, by, "rocprofiler", stubFolder(t, "hip"), environment, story.program, story.want)
		})
	}
}
