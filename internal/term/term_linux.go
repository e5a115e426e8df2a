package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// A terminal is what answers the terminal ioctl; /dev/null is a character device too and does not.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
