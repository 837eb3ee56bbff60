package store

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile is locked while a process appends to the run. Only its owner can open it:
// anybody who can open a file can lock it, and trials.ndjson is readable by all.
const lockFile = ".lock"

// acquire locks the run for this process until release or its death.
func (d *Dir) acquire() error {
	if d.lock != nil {
		return nil
	}
	for {
		f, err := d.openLock()
		if err != nil {
			return err
		}
		current, err := d.hold(f)
		switch {
		case err != nil:
			return errors.Join(err, f.Close())
		case current:
			d.lock = f
			return nil
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
}

// openLock opens the lock file, and creates it if necessary.
func (d *folder) openLock() (*os.File, error) {
	f, err := d.openRegular(lockFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return d.openRegular(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		d.owner.giveFile(f)
	}
	return f, err
}

// hold locks f. If its previous holder removed the file meanwhile, current is false: the
// lock excludes nobody.
func (d *folder) hold(f *os.File) (current bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if err := lock(f); err != nil {
		return false, err
	}
	named, err := d.root.Lstat(lockFile)
	return err == nil && os.SameFile(info, named), nil
}

// release removes the lock file and unlocks the run.
func (d *Dir) release() error {
	if d.lock == nil {
		return nil
	}
	f := d.lock
	d.lock = nil
	// While it is locked, so that it is still the file of this process. Windows does not
	// remove open files, and does not lock either: there the file remains.
	_ = d.root.Remove(lockFile)
	return f.Close()
}
