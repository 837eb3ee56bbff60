package engines

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/lab"
)

// The MTU option given to the overlay driver is the one that results in the requested inner
// MTU, or the underlay's MTU.
func TestOutside(t *testing.T) {
	for _, tt := range []struct {
		mtu, underlay, want int
		sealed              bool
	}{{0, 1500, 1500, false}, {0, 9000, 9000, true}, {1400, 1500, 1450, false}, {1400, 1500, 1476, true}, {1450, 1500, 1500, false},
		{1451, 1500, 0, false}, {1428, 1500, 0, true}, {1402, 1500, 0, true}} {
		on := &path{order: driver.Order{MTU: tt.mtu}, hosts: hosts{lab: &lab.Lab{Spec: lab.Spec{MTU: tt.underlay}}}}
		got, err := (&overlayPath{path: on, overlay: overlay{encrypted: tt.sealed}}).underlayMTU()
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%+v: %d, %v", tt, got, err)
		}
	}
}
