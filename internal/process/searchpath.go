package process

import (
	"os"
	"path/filepath"
	"slices"
)

// SystemPath returns the directories of the system's programs, those of the administrator included.
func SystemPath() []string {
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}

// SearchPath returns the directories that programs are searched in, each once: first those given, then the
// user's PATH, then those of the system, which a user's PATH may lack. All are absolute: a
// relative one would be another directory where a program is started.
func SearchPath(first ...string) []string {
	var dirs []string
	all := slices.Concat(first, filepath.SplitList(os.Getenv("PATH")), SystemPath())
	for _, d := range all {
		if filepath.IsAbs(d) && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
