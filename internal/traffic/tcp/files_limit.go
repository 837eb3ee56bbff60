//go:build linux || darwin

package tcp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reservedFiles is a generous bound on the files that a process has open besides the connections of
// a trial.
const reservedFiles = 64

// checkFileLimit refuses more connections than this process may open. The Go runtime has already
// raised the soft limit to the hard one.
func checkFileLimit(connections int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // unknown: the trial will show
	}
	if may := limit.Cur; uint64(connections)+reservedFiles > may {
		return fmt.Errorf("%d connections need one open file each, and this process may open %d: use fewer connections or raise the limit (ulimit -Hn)", connections, may)
	}
	return nil
}
