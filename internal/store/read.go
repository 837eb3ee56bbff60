package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errIrregular is the error for a pipe, a device or a directory, which could block a
// reader forever.
var errIrregular = errors.New("not a regular file")

// ReadStudy reads the study.yaml of a run's directory, and no other file: it does not
// follow a symbolic link out of the directory. Errors: there is none, or it is not a
// regular file of at most 4 MiB.
func ReadStudy(path string) ([]byte, error) {
	d, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("read the study of %s: %w", path, err)
	}
	defer d.Close()
	data, err := d.read(StudyFile, maxStudyFile)
	if err != nil {
		return nil, fmt.Errorf("read the study of %s: %w", path, err)
	}
	return data, nil
}

// read returns the content of a file of at most that many bytes.
func (d *Dir) read(name string, most int64) ([]byte, error) {
	f, size, err := d.openPlain(name, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, size) // a file that grows meanwhile is not read further
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it has become shorter
	}
	return data[:n], err
}

// openPlain opens a regular file of at most that many bytes for reading, and returns its
// size.
func (d *Dir) openPlain(name string, most int64) (*os.File, int64, error) {
	f, err := d.openRegular(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > most {
		err = fmt.Errorf("%s: %w: it has %d bytes, more than the maximum of %d", name, errTooLarge, info.Size(), most)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// openRegular opens a regular file in the way of [os.OpenFile], and waits for nothing: a pipe would block until
// somebody opens its other end. Errors: also errIrregular.
func (d *Dir) openRegular(name string, flag int, perm fs.FileMode) (*os.File, error) {
	irregular := fmt.Errorf("%s: %w", name, errIrregular)
	f, err := d.root.OpenFile(name, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		if info, other := d.root.Stat(name); other == nil && !info.Mode().IsRegular() {
			return nil, irregular
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unreadable is the error for a file of a run that cannot be read, with the fix.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it was cut or edited: invalid JSON from byte %d on: %w", syntax.Offset, err)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("it was edited: it is not an object but %s", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("it was edited: %s cannot be a %s", kind.Field, kind.Value)
	}
	return err
}

// runUnreadable is unreadable for run.json.
func (d *Dir) runUnreadable(err error) error {
	where := filepath.Join(d.Path(), RunFile)
	if errors.Is(err, errSchema) || errors.Is(err, errTooLarge) {
		return fmt.Errorf("read %s: %w", where, err)
	}
	if info, none := d.root.Stat(TrialsFile); none != nil || info.Size() == 0 {
		return fmt.Errorf("read %s: %w", where, unreadable(err))
	}
	return fmt.Errorf("read %s: %w; remove the file to report from the trials alone", where, unreadable(err))
}
