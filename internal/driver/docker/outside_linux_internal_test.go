//go:build linux

package docker

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/lab"
)

// The MTU that the overlay's driver is told is the one that makes it give the overlay
// what was ordered, or the underlay's own.
func TestOutside(t *testing.T) {
	for _, tt := range []struct {
		mtu, underlay, want int
		sealed              bool
	}{{0, 1500, 1500, false}, {0, 9000, 9000, true}, {1400, 1500, 1450, false}, {1400, 1500, 1476, true}, {1450, 1500, 1500, false},
		{1451, 1500, 0, false}, {1428, 1500, 0, true}, {1402, 1500, 0, true}} {
		p := &path{order: driver.ModeSpec{MTU: tt.mtu}, lab: &lab.Lab{Spec: lab.Spec{MTU: tt.underlay}}, sealed: tt.sealed}
		got, err := p.outside()
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%+v: %d, %v", tt, got, err)
		}
	}
}
