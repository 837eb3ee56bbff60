//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// onlyDir makes opening anything but a directory fail, instead of waiting for a pipe.
const onlyDir = syscall.O_DIRECTORY

// userOf is the user of a file.
func userOf(info fs.FileInfo) (uid int, known bool) {
	if info == nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
