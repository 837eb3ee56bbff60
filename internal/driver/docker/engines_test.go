//go:build linux

package docker_test

import (
	"context"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/labdriver"
	"tare/internal/engine/private"
	"tare/internal/study"
)

// needCurrent skips the test if scripts/setup-engines has built no engine, or this machine lacks
// what it needs.
func needCurrent(t *testing.T) {
	t.Helper()
	drivertest.NeedEngine(t)
	for _, firewall := range []string{study.FirewallIptables, study.FirewallNftables} {
		c, err := private.ConfigOf(study.Engine{Lab: study.CurrentEngine, Firewall: firewall})
		if err == nil {
			err = c.MissingRequirements(t.Context())
		}
		if err != nil {
			t.Skipf("no current Docker Engine can be had (scripts/setup-engines builds one): %v", err)
		}
	}
}

// on builds a driver's modes with an engine that a study chooses.
type on struct {
	labdriver.Driver
	engine study.Engine
	modes  []string // empty for all of the driver
}

func (d on) Modes() (some []driver.Mode) {
	for _, m := range d.Driver.Modes() {
		for _, id := range d.modes {
			if m.ID == id {
				some = append(some, m)
			}
		}
	}
	return some
}

func (d on) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	o.Engine = d.engine
	return d.Driver.Probe(ctx, o)
}

func (d on) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	o.Engine = d.engine
	return d.Driver.Provision(ctx, o)
}

func TestConformanceOfTheCurrentEngine(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	drivertest.Conformance(t, on{docker.Driver{}, study.Engine{Lab: study.CurrentEngine}, []string{
		"docker/host", "docker/published", "docker/bridge", "docker/userland-proxy", "docker/overlay", "docker/macvlan", "docker/routed", "docker/nat-unprotected", "docker/isolated"}})
}

func TestConformanceOfNftables(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	drivertest.Conformance(t, on{docker.Driver{}, study.Engine{Lab: study.CurrentEngine, Firewall: study.FirewallNftables}, []string{
		"docker/published", "docker/bridge", "docker/userland-proxy", "docker/routed", "docker/nat-unprotected", "docker/isolated"}})
}
