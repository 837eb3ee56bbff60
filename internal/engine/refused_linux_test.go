package engine_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// network creates a network that is removed with the test.
func (b bench) network(t *testing.T, spec engine.NetworkSpec) engine.Network {
	t.Helper()
	n := must.Get(b.CreateNetwork(t.Context(), spec))(t)
	t.Cleanup(func() {
		for range 2 { // idempotent
			if err := b.RemoveNetwork(context.Background(), n.ID); err != nil {
				t.Error(err)
			}
		}
	})
	return n
}

// A network is as requested, and a container has the requested address.
func TestNetwork(t *testing.T) {
	b := newBench(t)
	subnet := b.Lab.Addresses(lab.NetB, 1)[0].Masked()
	spec := engine.NetworkSpec{
		Run: b.ID, Name: engine.Name(b.ID, "net"), Driver: "bridge", Subnet: subnet,
		Options: map[string]string{"com.docker.network.driver.mtu": "1400"},
	}
	n := b.network(t, spec)
	if n.Name != spec.Name || n.Driver != "bridge" || n.Scope != "local" || !slices.Equal(n.Subnets, []netip.Prefix{subnet}) ||
		n.Options["com.docker.network.driver.mtu"] != "1400" || n.Labels[engine.LabelRun] != b.ID {
		t.Errorf("%+v", n)
	}
	order := b.Spec("fixed")
	fixed := b.Lab.Addresses(lab.NetB, 7)[0].Addr()
	order.Network, order.Addresses = n.Name, []netip.Addr{fixed}
	c := b.Container(t, order)
	if got := c.Addresses(); !slices.Equal(got, order.Addresses) || c.Endpoints[0].NetworkID != n.ID {
		t.Errorf("%+v", c.Endpoints)
	}
	n, err := b.Network(t.Context(), n.ID)
	must.True(t, err == nil && n.Joined[c.Name] == fixed, "%+v, %v", n, err)
	ns := must.Get(c.Namespace())(t)
	defer ns.Close()
	if _, facts, err := ns.Links().Describe("eth0"); err != nil || !slices.Contains(facts, [2]string{"mtu", "1400"}) {
		t.Errorf("%v, %v", facts, err)
	}
}

// An engine's refusal is reported on one line that says what to do, and nothing remains of the
// attempt.
func TestRefused(t *testing.T) {
	b := newBench(t)
	subnet := b.Lab.Addresses(lab.NetB, 1)[0].Masked()
	tiny := netip.PrefixFrom(subnet.Addr(), 30)
	net := engine.NetworkSpec{Run: b.ID, Name: engine.Name(b.ID, "net"), Driver: "bridge", Subnet: tiny}
	b.network(t, net)
	one := b.Spec("one")
	one.Network = net.Name
	b.Container(t, one)
	roomy := b.network(t, engine.NetworkSpec{Run: b.ID, Name: engine.Name(b.ID, "roomy"), Subnet: b.Lab.Addresses(lab.NetOverlay, 1)[0].Masked()})
	two := b.Spec("two")
	two.Network = roomy.Name
	taken := b.Container(t, two).Addresses()
	before := must.Get(b.Leftovers(t.Context(), nil))(t)

	container := func(change func(*engine.ContainerSpec)) error {
		spec := b.Spec("refused")
		change(&spec)
		_, err := b.Run(t.Context(), spec)
		return err
	}
	network := func(change func(*engine.NetworkSpec)) error {
		spec := engine.NetworkSpec{Run: b.ID, Name: engine.Name(b.ID, "refused")}
		change(&spec)
		_, err := b.CreateNetwork(t.Context(), spec)
		return err
	}
	for name, tt := range map[string]struct {
		err  error
		want error // nil if only the text shows it
		text string
	}{
		"name of a container": {container(func(s *engine.ContainerSpec) { s.Name = one.Name }), engine.ErrNameTaken, one.Name},
		"unknown network":     {container(func(s *engine.ContainerSpec) { s.Network = "nowhere" }), engine.ErrNotFound, "network nowhere"},
		"no free address":     {container(func(s *engine.ContainerSpec) { s.Network = net.Name }), engine.ErrNoAddress, net.Name},
		"address taken": {container(func(s *engine.ContainerSpec) {
			s.Network, s.Addresses = roomy.Name, taken
		}), engine.ErrAddressTaken, "refused"},
		"more CPUs than there":   {container(func(s *engine.ContainerSpec) { s.Limit = study.Limit{CPUs: 100000} }), nil, "CPUs"},
		"too little memory":      {container(func(s *engine.ContainerSpec) { s.Limit = study.Limit{Memory: 1 << 20} }), nil, "emory limit"},
		"a sysctl of the kernel": {container(func(s *engine.ContainerSpec) { s.Sysctls = map[string]string{"kernel.panic": "1"} }), nil, "kernel.panic"},
		"name of a network":      {network(func(s *engine.NetworkSpec) { s.Name = net.Name }), engine.ErrNameTaken, net.Name},
		"subnet overlaps":        {network(func(s *engine.NetworkSpec) { s.Subnet = subnet }), engine.ErrOverlap, subnet.String()},
		"unknown driver":         {network(func(s *engine.NetworkSpec) { s.Driver = "nonesuch" }), engine.ErrNoDriver, "nonesuch"},
		"inspect no network":     {func() error { _, err := b.Network(t.Context(), "nowhere"); return err }(), engine.ErrNotFound, "nowhere"},
	} {
		switch {
		case tt.err == nil:
			t.Errorf("%s: no error", name)
		case tt.want != nil && !errors.Is(tt.err, tt.want), strings.Contains(tt.err.Error(), "\n"), !strings.Contains(tt.err.Error(), tt.text):
			t.Errorf("%s: %v", name, tt.err)
		default:
			t.Logf("%s: %v", name, tt.err)
		}
	}
	after, err := b.Leftovers(t.Context(), nil)
	must.True(t, err == nil && len(after) == len(before), "before %v, after %v: %v", before, after, err)
}
