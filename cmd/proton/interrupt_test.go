package main

import (
	"io"
	"os"
	"syscall"
	"time"
)

// interrupted is a command of the stories: it is stopped by SIGTERM while it writes the file that it is given.
func interrupted() {
	write := writeTrace
	if len(os.Args) > 2 { // as the commands do that write anything else
		write = writeFile
	}
	_ = write(os.Args[1], func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		time.Sleep(time.Hour)
		return nil
	})
}
