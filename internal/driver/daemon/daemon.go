// Package daemon runs the processes that a mode has of its own on a host of the lab:
// this program under a hidden subcommand, or a program that is installed, which then is
// alone with its children in namespaces of process ids and mounts, with an empty /run
// where it finds nobody else's files and leaves none.
//
// Every one of them ends when its stdin does, and so with whoever started it. What it
// has to know and nobody else may, such as a key, it reads from there.
package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Command is the hidden subcommand under which this program is the first process of
// an installed one: tare daemon --run ID -- PROGRAM ARGS... .
const Command = "daemon"

// RunFlag is behind the name of every hidden subcommand; the run's id follows.
const RunFlag = "--run"

// Find looks for a program where the user's are, where an administrator's are, and in
// further directories.
func Find(program string, more ...string) (string, error) {
	dirs := slices.Concat(filepath.SplitList(os.Getenv("PATH")), []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}, more)
	for _, dir := range dirs {
		path := filepath.Join(dir, program)
		if !filepath.IsAbs(path) {
			continue
		}
		if s, err := os.Stat(path); err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", program, strings.Join(dirs, string(filepath.ListSeparator)), fs.ErrNotExist)
}
