package driver

import (
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

// The set-up begins with the server's sandbox, without one with the client's, and without either with the lab.
func TestSetupClock(t *testing.T) {
	var none *SetupClock
	none.LabBegins()
	none.SandboxBegins(RoleServer)
	none.SandboxExists(RoleServer)
	none.Step("ADD", 1)
	none.Pair(nil, nil, nil, nil)
	must.True(t, none.Steps() == nil, "nobody has recorded a step")
	for _, roles := range [][]string{{}, {RoleClient}, {RoleServer}, {RoleServer, RoleClient}, {RoleClient, RoleServer}} {
		pairs := 0
		c := &SetupClock{OnPair: func(InStack, InStack, []netip.AddrPort, []netip.AddrPort) { pairs++ }}
		if _, ok := c.Times(); ok {
			t.Error("times before the set-up")
		}
		c.LabBegins()
		for _, r := range roles {
			c.SandboxBegins(r)
			c.SandboxExists(r)
			c.SandboxBegins(r + "2")
		}
		c.Pair(nil, nil, nil, nil)
		c.Pair(nil, nil, nil, nil)
		got, ok := c.Times()
		begun, exists := c.lab, c.paired
		for _, r := range []string{RoleClient, RoleServer} {
			if at, has := c.begun[r]; has {
				begun, exists = at, c.exists[r]
			}
		}
		must.True(t, ok && pairs == 1 && got.Begun.Equal(begun) && got.Exists.Equal(exists) && !got.Both.After(got.Paired) && !got.Exists.After(got.Both),
			"with sandboxes of %v: %+v, want from %v, exists at %v; told of %d pairs", roles, got, begun, exists, pairs)
	}
}
