//go:build !linux || !amd64

package run

import "errors"

// inject refuses: the code that is put into a process is for one kind of processor.
func inject(int, string, string) error {
	return errors.New("proton attach works on Linux with x86-64 processors; start the program with proton run")
}
