package pprofui

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/pprof/driver"
)

// wantsBinaries matches flags that look into programs.
var wantsBinaries = regexp.MustCompile(`^--?(disasm|symbolize|tools|buildid)(=|$)`)

// binaries returns the tool with which the driver opens programs. It opens none unless the command line names a program or
// asks for one: the driver would search for a dozen tools and start some of them, which takes 20 ms or more for each
// call, although profiles of kernels and Python hold no program.
func binaries(args []string) driver.ObjTool {
	wanted := slices.ContainsFunc(args, func(arg string) bool {
		return wantsBinaries.MatchString(arg) || arg != "" && arg[0] != '-' && isProgram(arg)
	})
	if wanted {
		return nil // the driver's own
	}
	return noBinaries{}
}

type noBinaries struct{}

func (noBinaries) Open(file string, _, _, _ uint64, _ string) (driver.ObjFile, error) {
	return nil, fmt.Errorf("open %s: machine code is read only of a program given before the profile: proton pprof PROGRAM FILE", file)
}

func (noBinaries) Disasm(file string, _, _ uint64, _ bool) ([]driver.Inst, error) {
	return nil, errors.New("disassemble " + file + ": no program is given; write proton pprof PROGRAM FILE")
}
