package private_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/engine/private"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// rootlessConfig returns the current engine for an ordinary user, and skips the test if this machine
// cannot run it.
func rootlessConfig(t *testing.T) private.Config {
	t.Helper()
	drivertest.NeedEngine(t)
	asked := study.Engine{Lab: study.CurrentEngine}
	c, err := private.ConfigOf(asked)
	if err == nil {
		c.Rootless, err = c.Installation.RootlessOf(asked, 0)
	}
	if err == nil {
		err = c.MissingRequirements(t.Context())
	}
	if err != nil {
		testneed.Missing(t, testneed.Rootless, err)
	}
	return c
}

// What a study leaves open is chosen as by Docker: the network driver by what is installed, the port
// driver by the network driver.
func TestEnginesRootlessDefaults(t *testing.T) {
	for _, tt := range []struct {
		installed     string
		asked         study.Engine
		network, port string
		refused       string
	}{
		{"slirp4netns pasta", study.Engine{}, study.RootlessSlirp, study.RootlessBuiltin, ""},
		{"pasta", study.Engine{}, study.RootlessPasta, study.RootlessImplicit, ""},
		{"", study.Engine{}, study.RootlessGvisor, study.RootlessBuiltin, ""},
		{"slirp4netns pasta", study.Engine{RootlessPort: study.RootlessImplicit}, study.RootlessPasta, study.RootlessImplicit, ""},
		{"slirp4netns", study.Engine{RootlessPort: study.RootlessGvisor}, study.RootlessGvisor, study.RootlessGvisor, ""},
		{"slirp4netns", study.Engine{RootlessNet: study.RootlessGvisor}, study.RootlessGvisor, study.RootlessBuiltin, ""},
		{"", study.Engine{RootlessNet: study.RootlessPasta, RootlessPort: study.RootlessSlirp}, "", "", "does not work with the port driver slirp4netns; use rootless_port: implicit"},
		{"", study.Engine{RootlessNet: study.RootlessLXC}, "", "", "needs the program lxc-user-nic"},
		{"lxc-user-nic", study.Engine{RootlessNet: study.RootlessLXC}, "", "", "needs a bridge with a DHCP server"},
	} {
		dir := t.TempDir()
		for _, name := range strings.Fields(tt.installed) {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o700))
		}
		r, err := private.RootlessIn(dir, tt.asked, 0)
		switch {
		case tt.refused != "":
			must.FailFor(t, tt, err, tt.refused)
		case err != nil:
			t.Errorf("%+v: %v", tt, err)
		case r.Net != tt.network || r.Port != tt.port || r.MTU != 65520:
			t.Errorf("%+v: %+v", tt, *r)
		}
	}
	for _, mtu := range []int{1279, 65521} {
		if _, err := private.RootlessIn(t.TempDir(), study.Engine{}, mtu); err == nil {
			t.Errorf("an MTU of %d was accepted", mtu)
		}
	}
}
