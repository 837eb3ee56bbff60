package tunnel_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/tunnel"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// A tunnel without routes into it is detected within its time limit, in one line, and
// nothing of it is left.
func TestRoutesAreWrong(t *testing.T) {
	spec := drivertest.Spec(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := tunnel.Build(ctx, drivertest.SpecOn(spec, driver.Order{Mode: "x/y", Pairs: 1}), tunnel.Kind{Mode: driver.Mode{Headers: 60}, Port: 4500, MTUReduction: 80},
		func(context.Context, *tunnel.Path) (string, error) { return "", nil })
	must.FailLine(t, "error", err, "provision x/y: send a datagram through the tunnel", "the tunnel is set up, but packets routed into it do not arrive")
	left, globErr := filepath.Glob("/run/netns/" + lab.Prefix + spec.Claim.ID + "*")
	if globErr != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, globErr)
	}
}

// The inner MTU is the underlay's minus the default reduction, or the requested one if it
// fits.
func TestMTU(t *testing.T) {
	for _, tt := range []struct {
		underlay, ordered, most int
		want                    string
	}{
		{1500, 1441, 0, "use 1280 to 1440"}, {9000, 1401, 1400, "use 1280 to 1400"},
		{1300, 0, 0, "use 1280 to 1240"}, {1500, 1279, 0, "use 1280 to 1440"},
	} {
		spec := drivertest.Spec(t, func(s *lab.Spec) { s.MTU = tt.underlay })
		_, err := tunnel.Build(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "x/y", Pairs: 1, MTU: tt.ordered}), tunnel.Kind{Mode: driver.Mode{Headers: 60, MaxMTU: tt.most}, Port: 4500, MTUReduction: 80},
			func(context.Context, *tunnel.Path) (string, error) { return "", os.ErrInvalid })
		must.FailFor(t, tt, err, tt.want)
	}
}
