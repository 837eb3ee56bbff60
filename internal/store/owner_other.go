//go:build !unix

package store

import "io/fs"

// onlyDir is not known to other systems, on which nothing is given away.
const onlyDir = 0

// userOf returns nothing: other systems have no numbers of users.
func userOf(fs.FileInfo) (uid int, known bool) { return 0, false }
