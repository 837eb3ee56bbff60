package driver

import (
	"cmp"
	"fmt"
	"time"

	"tare/internal/plan"
	"tare/internal/study"
)

// Registry is the list of drivers. The command line creates it once.
type Registry []Driver

// Modes lists the modes of all drivers.
func (r Registry) Modes() []Mode {
	var all []Mode
	for _, d := range r {
		all = append(all, d.Modes()...)
	}
	return all
}

// For finds the driver of a mode. If the mode has a parameter, the returned Mode has it
// filled in.
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

// SetupTime estimates how long setting up and removing all modes of a study takes.
func (r Registry) SetupTime(s study.Study) time.Duration {
	var sum time.Duration
	for _, takes := range r.SetupTimes(s) {
		sum += takes
	}
	return sum
}

// SetupTimes is SetupTime for each mode, by its name in the study; modes that cannot be
// built are omitted.
func (r Registry) SetupTimes(s study.Study) map[string]time.Duration {
	each := map[string]time.Duration{}
	for _, asked := range s.Modes {
		if _, m, err := r.For(asked.Mode); err == nil {
			each[asked.Name()] = cmp.Or(m.SetupTime, plan.ModeOverhead) + m.SettingsTake(asked.With)
		}
	}
	return each
}
