// Package daemon runs the processes of a mode on a host of the lab: this program under a
// hidden subcommand, or an installed program. An installed program runs with its children
// in its own PID and mount namespaces, with an empty private /run.
//
// Every process exits when its stdin is closed, and so when the program that started it
// ends. Secrets such as keys are passed over stdin.
package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/process"
)

// Command is the hidden subcommand under which this program is the init process of an
// installed program: tare daemon --run ID -- PROGRAM ARGS... .
const Command = "daemon"

// RunFlag follows the name of every hidden subcommand and precedes the run's id.
const RunFlag = "--run"

// Find searches for a program in PATH, in the administrator's directories, and in the
// directories of more.
func Find(program string, more ...string) (string, error) {
	dirs := slices.Concat(process.SearchPath(), more)
	for _, dir := range dirs {
		path := filepath.Join(dir, program)
		if s, err := os.Stat(path); err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", program, strings.Join(dirs, ", "), fs.ErrNotExist)
}
