package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/internal/version"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"proton": main, "proton-viewer": main, "interrupted": interrupted, "killed": killed})
}

// TestStories runs testdata/*.txtar: command lines, their files, and what they print.
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       testkit.Update(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUpStory,
	})
}

// setUpStory gives a story an installation whose runtime is a fake, a machine without a GPU, and nothing of
// the environment that would change what it prints.
func setUpStory(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.CopyFS(home, os.DirFS("testdata/fakehome")); err != nil {
		return err
	}
	root := filepath.Join(env.WorkDir, ".root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	upstream, err := filepath.Abs("../../testdata/upstream")
	if err != nil {
		return err
	}
	traces, err := filepath.Abs("../../tritonparse/testdata")
	if err != nil {
		return err
	}
	recorded, err := filepath.Abs("../../viewer/testdata/recorded")
	if err != nil {
		return err
	}
	env.Setenv("UPSTREAM", upstream) // what the peers wrote
	env.Setenv("RECORDED", recorded) // what GPUs did
	env.Setenv("VERSION", version.Text())
	env.Setenv("TRACES", traces)
	env.Setenv("PROTON_HOME", home)
	env.Setenv("PROTON_ROOT", root)
	env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	env.Setenv("NO_COLOR", "1")
	return nil
}
