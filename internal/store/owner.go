package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// owner is the user to whom root gives what it creates for a run: who called sudo. The
// zero owner gives nothing away.
type owner struct {
	set      bool
	uid, gid int
}

// noID is the number that means no user, and no change in chown.
const noID = 1<<32 - 1

// sudoOwner is who called sudo: none unless the process is root and both numbers are
// plain.
func sudoOwner() owner {
	if os.Geteuid() != 0 {
		return owner{}
	}
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	if err != nil || uid == 0 || uid == noID {
		return owner{}
	}
	gid, err := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 32)
	if err != nil || gid == noID {
		return owner{}
	}
	return owner{true, int(uid), int(gid)}
}

// ownerIn is the owner of new files in a directory: who called sudo, if the directory is
// theirs. In a directory of root or of somebody else, root's files stay root's.
func ownerIn(root *os.Root) owner {
	o := sudoOwner()
	if !o.set {
		return o
	}
	info, err := root.Stat(".")
	if uid, known := userOf(info); err != nil || !known || uid != o.uid {
		return owner{}
	}
	return o
}

// giveFile gives away a file that this process has just created. It does not report
// errors: on a file system without owners, root's file is as good.
func (o owner) giveFile(f *os.File) {
	if o.set {
		_ = f.Chown(o.uid, o.gid)
	}
}

// mkdir creates a directory unless there is one, and gives it away if it created it.
func (o owner) mkdir(in *os.Root, name string) error {
	err := in.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && o.set {
		o.giveDir(in, name)
	}
	return err
}

// giveDir gives away a directory that this process has just created. Its parent can
// belong to somebody who replaces it meanwhile: by a link, or by a directory of root's.
// So it must be what has the name, a directory of root's and empty.
func (o owner) giveDir(in *os.Root, name string) {
	f, err := in.OpenFile(name, os.O_RDONLY|onlyDir, 0)
	if err != nil {
		return
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil || !opened.IsDir() {
		return
	}
	if uid, known := userOf(opened); !known || uid != os.Geteuid() {
		return
	}
	if named, err := in.Lstat(name); err != nil || !os.SameFile(named, opened) {
		return
	}
	if names, _ := f.Readdirnames(1); len(names) > 0 {
		return
	}
	o.giveFile(f)
}

// makeAll creates a directory with its parents. Those that it creates belong to who
// called sudo.
func makeAll(path string) error {
	o := sudoOwner()
	if !o.set {
		return os.MkdirAll(path, 0o755)
	}
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return os.MkdirAll(path, 0o755) // which says what is wrong
		}
		return nil
	}
	parent := filepath.Dir(path)
	if parent == path {
		return os.MkdirAll(path, 0o755)
	}
	if err := makeAll(parent); err != nil {
		return err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer root.Close()
	return o.mkdir(root, filepath.Base(path))
}
