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

// Width returns how many columns a terminal has, 0 for what is none.
func Width(out any) int {
	f, ok := file(out)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
