package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// WriteFile writes a file that the user named. A regular one is written beside and then replaces what was there,
// which stays as it was if write fails; anything else, as a device or a pipe, is written to. A pipe that nobody
// reads is an error.
func WriteFile(path string, write func(io.Writer) error) error {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at // the link stays
	}
	mode := fs.FileMode(0o666)
	switch info, err := os.Stat(path); {
	case err == nil && info.Mode().IsRegular():
		mode = info.Mode().Perm()
	case err == nil:
		return writeInto(path, write)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.FormatUint(rand.Uint64(), 36))
	file, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("make a file beside %s, which then replaces it: %w", path, err)
	}
	if err = errors.Join(write(file), file.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}

// writeInto writes to what is not a regular file.
func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%s is a pipe that nobody reads", path)
	}
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// OpenInput opens a file that a user named. It does not wait for a writer of a named pipe: one
// without a writer is empty.
func OpenInput(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
