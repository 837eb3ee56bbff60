package store

import (
	"io/fs"
	"syscall"
	"time"
)

// stateOf returns the number of a file in its file system, and when its content or its
// properties last changed: a time that no program can set.
func stateOf(info fs.FileInfo) (inode uint64, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, info.ModTime()
	}
	return st.Ino, time.Unix(st.Ctim.Unix())
}
