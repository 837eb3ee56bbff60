package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	info, err := d.root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	// Checked first, because opening a pipe blocks until a writer opens it.
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: %w", name, errIrregular)
	}
	if info.Size() > most {
		return nil, 0, fmt.Errorf("%s: %w: it has %d bytes, more than the maximum of %d", name, errTooLarge, info.Size(), most)
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // as it may be a pipe by now
	return f, info.Size(), err
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
	where := filepath.Join(d.path, RunFile)
	if errors.Is(err, errSchema) || errors.Is(err, errTooLarge) {
		return fmt.Errorf("read %s: %w", where, err)
	}
	if info, none := d.root.Stat(TrialsFile); none != nil || info.Size() == 0 {
		return fmt.Errorf("read %s: %w", where, unreadable(err))
	}
	return fmt.Errorf("read %s: %w; remove the file to report from the trials alone", where, unreadable(err))
}
