package driver

import (
	"fmt"

	"tare/internal/study"
)

// Registry is the drivers there are. It is made once, in the open, by the
// command line.
type Registry []Driver

// Modes lists the modes of all drivers.
func (r Registry) Modes() []Mode {
	var all []Mode
	for _, d := range r {
		all = append(all, d.Modes()...)
	}
	return all
}

// For finds the driver of a mode. Of a mode with a parameter it gives the mode
// with that filled in.
func (r Registry) For(mode string) (Driver, Mode, error) {
	for _, d := range r {
		for _, m := range d.Modes() {
			if study.Fits(m.ID, mode) {
				m.ID = mode
				return d, m, nil
			}
		}
	}
	return nil, Mode{}, fmt.Errorf("no driver builds mode %q", mode)
}
