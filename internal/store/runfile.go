package store

import (
	"fmt"

	"tare/internal/result"
)

// Evaluated reads run.json alone: the run as it was evaluated, without its trials. Errors: none was
// written, it cannot be read, or a later session began after it and was killed.
func (d *Dir) Evaluated() (result.Run, error) {
	run, err := d.readRun()
	if err != nil {
		return result.Run{}, err
	}
	sessions, err := d.readSessions()
	if err != nil {
		return result.Run{}, err
	}
	if superseded(run, lastOf(sessions)) {
		return result.Run{}, fmt.Errorf("%s: the run was resumed after %s was written, and killed", d.Path(), RunFile)
	}
	return run, nil
}

// superseded reports whether an earlier session than the last wrote run.json: the last was killed.
func superseded(run result.Run, last *result.Session) bool {
	return last != nil && last.Run.ID != run.ID
}
