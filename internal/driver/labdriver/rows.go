package labdriver

import (
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/study"
)

// Row is a mode of a driver: what everybody may know of it, and B, what the driver builds it from.
type Row[B any] struct {
	driver.Mode
	Build B
}

// Rows are all modes of a driver, in the order in which they are shown. A fact about a mode is in its row
// alone.
type Rows[B any] []Row[B]

// Modes lists the modes.
func (r Rows[B]) Modes() []driver.Mode {
	var out []driver.Mode
	for _, row := range r {
		out = append(out, WithEvents(row.Mode))
	}
	return out
}

// Find returns the row of a mode, whose name may have a parameter. The error names the driver.
func (r Rows[B]) Find(of, mode string) (Row[B], error) {
	i := slices.IndexFunc(r, func(row Row[B]) bool { return study.Fits(row.ID, mode) })
	if i < 0 {
		return Row[B]{}, fmt.Errorf("driver %s has no mode %q", of, mode)
	}
	return r[i], nil
}
