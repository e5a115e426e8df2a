//go:build !linux

package reproduce

import (
	"errors"
	"os/exec"
)

func (w *Warm) fork(Interpreter, *exec.Cmd) (kill, wait func(), err error) {
	return nil, nil, errors.ErrUnsupported
}
