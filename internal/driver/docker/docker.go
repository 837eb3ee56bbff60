// Package docker builds network modes with real Docker Engines: the engine creates the
// networks and containers; this package requests them, finds the resulting devices and
// rules, and declares what those must show.
//
// Each mode has its own lab with a private engine on each host that needs one, so that the
// rules, bridges and networks of one mode do not affect another.
package docker

import (
	"context"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/setting"
	"tare/internal/study"
)

// setupTime is roughly how long setting up and removing a mode takes: an engine on each host
// that needs one, containers, agents.
const setupTime = 2500 * time.Millisecond

// Driver builds the modes of this package on the hosts of labs.
type Driver struct {
	labdriver.LinuxOnly
	// ready is called after the engines of a path have started and before they are used;
	// tests register plugins there. May be nil.
	ready func(ctx context.Context, p *path) error
	// join takes the place of joinWait unless it is 0.
	join time.Duration
}

// settingTrusted is the setting of docker/direct-routing.
const settingTrusted = "trusted_interface"

func trustedInterface() driver.OwnSetting {
	valid := func(v string) bool { return v == study.On || v == study.Off }
	return driver.OwnSetting{
		SettingSpec: study.SettingSpec{Name: settingTrusted, Values: "on or off", Valid: valid},
		Title:       "the network trusts the underlay device (com.docker.network.bridge.trusted_host_interfaces)",
	}
}

// The modes whose servers are tasks of a Swarm's services.
const (
	serviceHostPortMode = "docker/service-host-port"
	ingressMode         = "docker/ingress"
)

// settingEndpoint is the setting of docker/ingress, and endpointOther its only value.
const (
	settingEndpoint = "endpoint"
	endpointOther   = "other"
)

func endpoint() driver.OwnSetting {
	return driver.OwnSetting{
		SettingSpec: study.SettingSpec{Name: settingEndpoint, Values: endpointOther, Valid: func(v string) bool { return v == endpointOther }},
		Title:       "the client dials a node on which no task of the service runs",
	}
}

// Modes lists the modes of this package. Each is built by the recipe with its name.
func (Driver) Modes() []driver.Mode {
	modes := containers.Traits([]driver.Mode{
		{ID: "docker/host", Title: "both endpoints in containers on the host network", Baseline: containers.Host},
		{ID: "docker/published", Title: "raw client, server in a container with a published port", Baseline: containers.Host},
		{ID: "docker/bridge", Title: "both endpoints in containers on the default bridge, masqueraded and published", Baseline: containers.Host},
		{ID: "docker/colocated", Title: "two containers on one bridge", Baseline: containers.HostLocal},
		{ID: "docker/to-host", Title: "container to a process on the same host", Baseline: containers.HostLocal},
		{ID: "docker/userland-proxy", Title: "process to a container on the same host, through docker-proxy", Baseline: containers.HostLocal},
		{ID: "docker/routed", Title: "raw client, server in a container that is reached by routing (gateway mode routed)", Baseline: containers.Host},
		{ID: "docker/nat-unprotected", Title: "raw client, server in a container that is reached by routing (gateway mode nat-unprotected)", Baseline: containers.Host},
		{ID: "docker/nat", Title: "raw client, server in a container of a user-defined network with a published port (gateway mode nat)", Baseline: containers.Host},
		{ID: "docker/direct-routing", Title: "raw client, server in a container that is reached by direct routing past its published port", Baseline: containers.Host},
		{ID: "docker/isolated", Title: "two containers on one bridge without an address of the host (gateway mode isolated)", Baseline: containers.HostLocal},
		{ID: serviceHostPortMode, Title: "raw client, server in a task of a Swarm service with a port published in mode host", Baseline: containers.Host},
		{ID: ingressMode, Title: "raw client, server in a task of a Swarm service that is reached through the routing mesh (IPVS)", Baseline: containers.Host},
		{ID: rootlessMode, Title: "raw client, server in a container of an ordinary user's engine with a published port", Baseline: containers.Host, MTU: true},
		{ID: rootlessOutMode, Title: "client in a container of an ordinary user's engine, raw server", Baseline: containers.Host, MTU: true},
		{ID: "docker/macvlan", Title: "containers on macvlan networks of the underlay", Baseline: containers.Host},
		{ID: "docker/ipvlan", Title: "containers on ipvlan networks of the underlay", Baseline: containers.Host},
		{ID: "docker/overlay", Title: "containers on an overlay of a Swarm of two engines", Baseline: containers.Host, MTU: true, Headers: driver.VXLANHeaders},
		{ID: "docker/overlay-encrypted", Title: "containers on an encrypted overlay of a Swarm", Baseline: containers.Host, MTU: true, Headers: driver.VXLANHeaders + driver.OverlayESPHeaders},
		{ID: "docker/network:NAME", Title: "containers on an existing network", Baseline: containers.Host},
		{ID: "docker/driver:NAME", Title: "containers on a network created with a given driver and options", Baseline: containers.Host},
	}, setupTime)
	for i := range modes {
		switch modes[i].ID {
		case "docker/direct-routing":
			modes[i].Own = []driver.OwnSetting{trustedInterface()}
		case ingressMode:
			modes[i].Own = []driver.OwnSetting{endpoint()}
		}
		modes[i].Parts, modes[i].Settings, modes[i].Engine = partsOf(modes[i].ID), setting.Names(), true
		modes[i].Options = modes[i].Options || hasGatewayNetwork(modes[i].ID)
		if isRootless(modes[i].ID) {
			modes[i].Settings = nil
		}
	}
	return modes
}

// hasGatewayNetwork reports whether the server of a mode is on a network that tare creates with Docker's
// bridge driver, which takes options.
func hasGatewayNetwork(mode string) bool {
	return slices.Contains([]string{"docker/nat", "docker/direct-routing", "docker/routed", "docker/nat-unprotected", "docker/isolated"}, mode)
}

// The modes whose engine runs as an ordinary user.
const (
	rootlessMode    = "docker/rootless"
	rootlessOutMode = "docker/rootless-out"
)

func isRootless(mode string) bool { return mode == rootlessMode || mode == rootlessOutMode }
