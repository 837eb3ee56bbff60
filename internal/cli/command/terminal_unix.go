//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeSignals are those that the system sends for a write that fails: nobody reads a pipe, or
// a file becomes larger than this process may make it.
func writeSignals() []os.Signal { return []os.Signal{unix.SIGPIPE, unix.SIGXFSZ} }

// Terminal reports whether w is a terminal, and its size.
func Terminal(w any) (tty bool, width, height int) {
	f, ok := File(w)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false, 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return false, 0, 0
	}
	return true, int(size.Col), int(size.Row)
}

// InBackground reports whether r is the terminal of this program, which runs in the background: reading would stop it.
func InBackground(r any) bool {
	f, ok := File(r)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp() // an error: it is not the terminal of this program
}
