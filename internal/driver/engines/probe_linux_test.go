package engines_test

import (
	"testing"

	"tare/internal/driver/containers"
	"tare/internal/driver/engines"
	"tare/internal/testkit/drivertest"
)

// A smaller MTU behind the bridge of an engine is named before any trial, as a black hole where hosts send no ICMP.
func TestEnginesPathMTU(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	drivertest.Provision(t, engines.Docker{}, "docker/bridge", nil).ChecksPathMTU(t, containers.MTUKey)
}
