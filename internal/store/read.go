package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

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
