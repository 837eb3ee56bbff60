//go:build linux

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tare/internal/runid"
)

// MkdirTemp creates a directory of a run in the temporary directory, which only this user can
// read. Its name has the run's id and a random part, so that nobody can have put something else
// there; what ends the name. By its mark tare gc knows it.
func MkdirTemp(run, what string) (string, error) {
	dir, err := os.MkdirTemp("", Prefix+run+"-*-"+what)
	if err != nil {
		return "", err
	}
	if err := Mark(dir, run); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// CreateTemp creates a file in such a directory of its own. On error nothing remains.
func CreateTemp(run, what string) (*os.File, error) {
	dir, err := MkdirTemp(run, "file")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, what), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return f, nil
}

// copySuffix ends the names of the directories that a controller on another machine has placed
// here, in whichever of copyParents it could.
const copySuffix = "-machine"

// copyParents are the directories in which a controller on another machine places a directory,
// besides the temporary one: see package machine.
func copyParents() []string {
	all := []string{"/tmp", "/var/tmp", "/dev/shm"}
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, cache)
	}
	if home, err := os.UserHomeDir(); err == nil {
		all = append(all, home)
	}
	return all
}

// tempLeftovers lists what dead runs have left in the temporary directory and in copyParents.
func tempLeftovers(alive runid.Claims) ([]Leftover, error) {
	found, err := leftoversIn(os.TempDir(), "", alive)
	if err != nil {
		return nil, fmt.Errorf("list the temporary directory: %w", err)
	}
	for _, dir := range copyParents() {
		if dir == os.TempDir() {
			continue
		}
		more, _ := leftoversIn(dir, copySuffix, alive) // nothing was placed where this user cannot look
		found = append(found, more...)
	}
	return found, nil
}

// leftoversIn lists what dead runs have left in a directory under names with the suffix.
func leftoversIn(dir, suffix string, alive runid.Claims) ([]Leftover, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Leftover
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), Prefix)
		id, _, ok := strings.Cut(name, "-")
		if !ours || !ok || !runid.IsID(id) || !strings.HasSuffix(name, suffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		owner, ok := tempOwner(path)
		if !ok || alive.Hold(id, owner) {
			continue
		}
		found = append(found, Leftover{Run: id, What: "directory " + path, Owner: owner, Unmarked: !Foreign(owner) && !hasMark(path, id), path: path})
	}
	return found, nil
}

// tempOwner returns the owner of a directory; ok is false for anything else, such as a symbolic link.
func tempOwner(path string) (owner int, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// hasMark reports whether a directory has the mark of a run.
func hasMark(path, run string) bool {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer parent.Close()
	dir, _, err := OpenMarked(parent, filepath.Base(path), run)
	if err != nil {
		return false
	}
	dir.Close()
	return true
}

// removeTemp removes a directory with all that is in it, unless it is no longer the one that was
// found or has no mark. It follows no symbolic link.
func (l Leftover) removeTemp() error {
	parent, err := os.OpenRoot(filepath.Dir(l.path))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(l.path)
	dir, owner, err := OpenMarked(parent, name, l.Run)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnmarked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", l.What, err)
	}
	defer dir.Close()
	if owner != l.Owner {
		return nil
	}
	if err := RemoveOpened(parent, dir, name); err != nil {
		return fmt.Errorf("remove %s: %w", l.What, err)
	}
	return nil
}
