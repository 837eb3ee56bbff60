//go:build linux || darwin

package tcp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reservedFiles is how many files a process has open besides the connections of a
// trial, roomily.
const reservedFiles = 64

// checkFileLimit refuses what this process may not open. The Go runtime has raised
// its limit to the hard one already.
func checkFileLimit(connections int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // unknown: the trial will tell
	}
	if may := limit.Cur; uint64(connections)+reservedFiles > may {
		return fmt.Errorf("%d connections take a file each, and this process may open %d: ask for fewer, or raise the limit (ulimit -Hn)", connections, may)
	}
	return nil
}
