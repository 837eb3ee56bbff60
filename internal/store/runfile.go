package store

import (
	"fmt"

	"tare/internal/result"
)

// Evaluated reads run.json alone: the run as it was evaluated, without its trials. Errors: none was
// written, it cannot be read, or a later session began after it and was killed.
func (d *Dir) Evaluated() (result.Run, error) {
	run, err := d.readRun()
	if err == nil && d.superseded(run) {
		err = fmt.Errorf("%s: the run was resumed after %s was written, and killed", d.Path(), RunFile)
	}
	if err != nil {
		return result.Run{}, err
	}
	return run, nil
}
