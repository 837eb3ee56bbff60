package engines_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
)

// A network that cannot be joined or created is reported in one line before any traffic,
// and nothing is left.
func TestEnginesNetworksThatCannotBe(t *testing.T) {
	drivertest.NeedEngine(t)
	const unreachable = "cannot reach"
	for _, tt := range []struct {
		name, mode string
		options    map[string]string
		prepare    func(ctx context.Context, s engines.Stage) error
		want       string
	}{
		{name: "no such network", mode: "docker/network:nowhere", want: "nowhere"},
		{name: "the host's own", mode: "docker/network:host", want: "no network interface"},
		{name: "none", mode: "docker/network:none", want: "no network interface"},
		{name: "on one engine only", mode: "docker/network:half", prepare: func(ctx context.Context, s engines.Stage) error {
			_, err := s.A.CreateNetwork(ctx, engine.NetworkSpec{Run: s.Lab.Spec.Claim.ID, Name: "half"})
			return err
		}, want: "engine b: inspect network half"},
		{name: "another driver on the other", mode: "docker/network:odd", prepare: func(ctx context.Context, s engines.Stage) error {
			spec := engine.NetworkSpec{Run: s.Lab.Spec.Claim.ID, Name: "odd"}
			_, err := s.A.CreateNetwork(ctx, spec)
			spec.Driver, spec.Options, spec.Subnet = "macvlan", map[string]string{"parent": "eth0"}, s.Lab.Addresses(lab.NetOverlay, 0)[0]
			_, second := s.B.CreateNetwork(ctx, spec)
			return errors.Join(err, second)
		}, want: "bridge on engine a and macvlan on engine b"},
		{name: "no free addresses", mode: "docker/network:tiny", prepare: func(ctx context.Context, s engines.Stage) error {
			return onBoth(ctx, s, engine.NetworkSpec{Run: s.Lab.Spec.Claim.ID, Name: "tiny", Driver: "macvlan",
				Options: map[string]string{"parent": "eth0"}, Subnet: within(s.Lab, 30)})
		}, want: "2 addresses are required and 1 are free"},
		{name: "no free addresses in a Swarm", mode: "docker/network:narrow", prepare: func(ctx context.Context, s engines.Stage) error {
			return inSwarm(ctx, s, engine.NetworkSpec{Name: "narrow", Attachable: true, Subnet: within(s.Lab, 30)})
		}, want: "4 addresses are required and 1 are free"},
		{name: "for services only", mode: "docker/network:closed", prepare: func(ctx context.Context, s engines.Stage) error {
			return inSwarm(ctx, s, engine.NetworkSpec{Name: "closed"})
		}, want: "--attachable"},
		{name: "two that do not meet", mode: "docker/driver:bridge", want: unreachable},
		{name: "an option that the driver refuses", mode: "docker/driver:macvlan", options: map[string]string{"parent": "eth0", "macvlan_mode": "sideways"}, want: "sideways"},
		{name: "a subnet that is taken", mode: "docker/driver:bridge", options: map[string]string{"subnet": "198.18.0.0/15"}, want: engine.ErrOverlap.Error()},
		{name: "a subnet that is none", mode: "docker/driver:bridge", options: map[string]string{"subnet": "here"}, want: "it must be an IPv4 prefix"},
		{name: "a subnet that is too small", mode: "docker/driver:macvlan", options: map[string]string{"parent": "eth0", "subnet": "198.51.100.0/30"}, want: "too small for 2 containers"},
		{name: "no such driver", mode: "docker/driver:nobodys", want: engine.ErrNoDriver.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := engines.Docker{}
			if tt.want == unreachable {
				d = engines.Impatient()
			}
			if tt.prepare != nil {
				d = engines.Prepared(tt.prepare)
			}
			refused(t, d, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: tt.mode, Pairs: 1, Options: tt.options}), tt.want)
		})
	}
}

// A plugin's error is reported.
func TestEnginesPluginRefuses(t *testing.T) {
	drivertest.NeedEngine(t)
	d := engines.Prepared(func(_ context.Context, s engines.Stage) error { return startPlugins(t, s) })
	refused(t, d, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "docker/driver:" + pluginName, Pairs: 1, Options: map[string]string{optionPrefix + "colour": "7"}}), "option org.example.colour is unknown")
}

// NAME itself is not accepted as a name.
func TestTemplatesNeedAName(t *testing.T) {
	for _, mode := range []string{"docker/network:NAME", "docker/driver:NAME"} {
		if u, ok := driver.AsUnsupported(engines.Docker{}.Probe(t.Context(), labdriver.Order{Order: driver.Order{Mode: mode}})); !ok || !strings.Contains(u.Reason, "replace NAME with a name") {
			t.Errorf("%s: %v", mode, u)
		}
	}
}

// refused provisions an impossible mode, and checks the error and that nothing is left.
func refused(t *testing.T, d labdriver.Driver, o labdriver.Order, want string) {
	t.Helper()
	p, err := d.Provision(t.Context(), o)
	if err == nil {
		t.Error(p.Close(t.Context()))
		t.Fatalf("%s was provisioned", o.Mode)
	}
	if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("got %q, want one line with %q", text, want)
	}
	id := o.Lab.Claim.ID
	names, err := linuxnet.Pinned(lab.Prefix + id)
	if err != nil || len(names) > 0 {
		t.Errorf("namespaces are left: %v, %v", names, err)
	}
	for _, pattern := range []string{"/var/lib/tare/engines/" + id + "-*", "/sys/fs/cgroup/*/" + lab.Prefix + id + "*", "/sys/fs/cgroup/" + lab.Prefix + id + "*"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), id) {
		t.Errorf("mounts of the run are left (%v)", err)
	}
}

// within is the first part of the overlay's subnet.
func within(l *lab.Lab, bits int) netip.Prefix {
	return netip.PrefixFrom(l.Addresses(lab.NetOverlay, 0)[0].Addr(), bits)
}

// inSwarm creates a Swarm of the engines and an overlay on it.
func inSwarm(ctx context.Context, s engines.Stage, spec engine.NetworkSpec) error {
	if err := private.Swarm(ctx, s.Lab, s.A, s.B); err != nil {
		return err
	}
	spec.Run, spec.Driver = s.Lab.Spec.Claim.ID, "overlay"
	_, err := s.A.CreateNetwork(ctx, spec)
	return err
}
