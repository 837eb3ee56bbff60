//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminal reports whether w is a terminal, and its size.
func terminal(w any) (tty bool, width, height int) {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false, 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return false, 0, 0
	}
	return true, int(size.Col), int(size.Row)
}
