package driver

import (
	"cmp"
	"fmt"
	"time"

	"tare/internal/plan"
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

// SetupTime is how long the modes of a study take to be made and taken down, about.
func (r Registry) SetupTime(s study.Study) time.Duration {
	var sum time.Duration
	for _, takes := range r.SetupTimes(s) {
		sum += takes
	}
	return sum
}

// SetupTimes is the same for each mode, by its name in the study; those that cannot be
// built are left out.
func (r Registry) SetupTimes(s study.Study) map[string]time.Duration {
	each := map[string]time.Duration{}
	for _, asked := range s.Modes {
		if _, m, err := r.For(asked.Mode); err == nil {
			each[asked.Name()] = cmp.Or(m.SetupTime, plan.ModeOverhead)
		}
	}
	return each
}
