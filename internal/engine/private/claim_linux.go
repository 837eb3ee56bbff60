package private

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// markSuffix ends the name of the file in privateBase that says that a run has made the directory and the control
// groups of that name: a name alone may be that of anybody's control group. It is there before them and after them,
// so that none is without it, whenever tare is killed.
const markSuffix = ".run"

func markPath(name string) string { return filepath.Join(privateBase, name+markSuffix) }

// markText is the content of the mark of a name, which begins with the run's id.
func markText(name string) string {
	run, _, _ := strings.Cut(name, "-")
	return "tare " + run + "\n"
}

// Claim makes the mark of a name. It is an error if another has it.
func Claim(name string) error {
	for tries := 0; ; tries++ {
		if err := os.MkdirAll(privateBase, 0o755); err != nil {
			return err
		}
		err := linuxnet.CreateMark(markPath(name), markText(name))
		// Another run that ends may be removing privateBase, because it is empty.
		if !errors.Is(err, os.ErrNotExist) || tries > 10 {
			return err
		}
	}
}

// isClaimed reports whether a name has its mark.
func isClaimed(name string) bool { return linuxnet.IsMark(markPath(name), markText(name)) }

// unclaim removes the mark of a name, and privateBase with its parent if it was the last.
func unclaim(name string) error {
	if err := os.Remove(markPath(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// They stay if they are not empty.
	if os.Remove(privateBase) == nil {
		_ = os.Remove(filepath.Dir(privateBase))
	}
	return nil
}

// RemoveClaimed removes the control groups and the directory of a name, then its mark.
func RemoveClaimed(name string) error {
	if err := errors.Join(removeCgroups(lab.Prefix+name), os.RemoveAll(filepath.Join(privateBase, name))); err != nil {
		return err
	}
	return unclaim(name)
}
