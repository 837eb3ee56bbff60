package engines

import (
	"strconv"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
	"tare/internal/study"
)

// dockerTime is roughly how long setting up and removing a mode takes: an engine on each host
// that needs one, containers, agents.
const dockerTime = 2500 * time.Millisecond

// dockerModes lists the modes of Docker Engines.
func dockerModes() []mode {
	both, onA, onB := hostSet{a: true, b: true}, hostSet{a: true}, hostSet{b: true}
	client, server := study.Ends{Client: true}, study.Ends{Server: true}
	const far, near = containers.Host, containers.HostLocal
	behindPort := append(labdriver.SecondLinkEvents(), EngineRestart, study.EndpointReplaced)
	return []mode{
		{id: "docker/host", title: "both endpoints in containers on the host network", baseline: far,
			engines: both, parts: list(partConntrack), build: hostNetwork{}},
		{id: "docker/published", title: "raw client, server in a container with a published port", baseline: far,
			engines: onB, raw: client, own: already(), events: behindPort, parts: list(partConntrack, partDNAT, partChains), needs: translated(partDNAT), build: published{}},
		{id: "docker/bridge", title: "both endpoints in containers on the default bridge, masqueraded and published", baseline: far,
			engines: both, own: already(), events: behindPort, parts: list(partConntrack, partMasquerade, partDNAT, partChains), build: published{masqueraded: true},
			needs: append(translated(partMasquerade, partDNAT), requirement{part: partConntrack, with: []string{partChains}, why: "the engine's chains accept replies by the state of their connection"})},
		{id: "docker/colocated", title: "two containers on one bridge", baseline: near, engines: onA, build: colocated{}},
		{id: "docker/to-host", title: "container to a process on the same host", baseline: near,
			engines: onA, raw: server, parts: list(partConntrack), build: toHost{}},
		{id: "docker/userland-proxy", title: "process to a container on the same host, through docker-proxy", baseline: near,
			engines: onA, raw: client, build: userlandProxy{},
			parts: titled(list(partConntrack, partDNAT, partProxy), partDNAT, "the DNAT rule for the loopback address, which docker-proxy replaces"),
			needs: []requirement{
				{part: partDNAT, with: []string{partProxy}, why: "with docker-proxy no packet of the path is translated"},
				{part: partConntrack, with: []string{partDNAT}, why: tracked, once: partProxy},
			}},
		{id: "docker/routed", title: "raw client, server in a container that is reached by routing (gateway mode routed)", baseline: far,
			engines: onB, raw: client, gateway: true, parts: list(partResolver), build: gateway{mode: gatewayRouted}},
		{id: "docker/nat-unprotected", title: "raw client, server in a container that is reached by routing (gateway mode nat-unprotected)", baseline: far,
			engines: onB, raw: client, gateway: true, parts: list(partResolver), build: gateway{mode: gatewayUnprotected}},
		{id: "docker/nat", title: "raw client, server in a container of a user-defined network with a published port (gateway mode nat)", baseline: far,
			engines: onB, raw: client, gateway: true, parts: list(partResolver), build: gateway{mode: gatewayNAT, translated: true}},
		{id: "docker/direct-routing", title: "raw client, server in a container that is reached by direct routing past its published port", baseline: far,
			engines: onB, raw: client, gateway: true, parts: list(partResolver), own: trustedInterface(), build: gateway{mode: gatewayNAT, direct: true}},
		{id: "docker/isolated", title: "two containers on one bridge without an address of the host (gateway mode isolated)", baseline: near,
			engines: onA, gateway: true, parts: list(partResolver), build: gateway{mode: gatewayIsolated}},
		{id: "docker/service-host-port", title: "raw client, server in a task of a Swarm service with a port published in mode host", baseline: far,
			engines: onB, raw: client, swarm: true, parts: list(partConntrack, partDNAT, partChains), needs: translated(partDNAT), build: published{task: true}},
		{id: "docker/ingress", title: "raw client, server in a task of a Swarm service that is reached through the routing mesh (IPVS)", baseline: far,
			engines: onB, raw: client, swarm: true, own: endpoint(), build: routingMesh{}},
		{id: "docker/rootless", title: "raw client, server in a container of an ordinary user's engine with a published port", baseline: far,
			engines: onB, raw: client, rootless: true, mtu: true, parts: list(partProxy), build: rootless{}},
		{id: "docker/rootless-out", title: "client in a container of an ordinary user's engine, raw server", baseline: far,
			engines: onA, raw: server, rootless: true, mtu: true, build: rootless{out: true}},
		{id: "docker/macvlan", title: "containers on macvlan networks of the underlay", baseline: far,
			engines: both, parts: list(partResolver), build: onUnderlay{kind: "macvlan"}},
		{id: "docker/ipvlan", title: "containers on ipvlan networks of the underlay", baseline: far,
			engines: both, parts: list(partResolver), build: onUnderlay{kind: "ipvlan"}},
		{id: "docker/overlay", title: "containers on an overlay of a Swarm of two engines", baseline: far,
			engines: both, swarm: true, mtu: true, headers: driver.VXLANHeaders, build: overlay{},
			parts: titled(list(partConntrack, partResolver), partConntrack, "connection tracking of the tunnel's packets on the hosts")},
		{id: "docker/overlay-encrypted", title: "containers on an encrypted overlay of a Swarm", baseline: far,
			engines: both, swarm: true, mtu: true, headers: driver.VXLANHeaders + driver.OverlayESPHeaders, parts: list(partResolver), build: overlay{encrypted: true}},
		{id: "docker/network:NAME", title: "containers on an existing network", baseline: far,
			engines: both, parts: list(partResolver), build: existingNetwork{}},
		{id: "docker/driver:NAME", title: "containers on a network created with a given driver and options", baseline: far,
			engines: both, options: true, parts: list(partResolver), build: createdNetwork{}},
	}
}

// already are the settings for what an engine has besides the path, and for what its containers do without it.
func already() []driver.OwnSetting {
	return []driver.OwnSetting{
		number(study.SettingPorts, 1000, 80*time.Millisecond, "further ports that the server's container publishes, each for TCP and UDP"),
		number(study.SettingContainers, 400, 250*time.Millisecond, "further containers that run on the server's engine before its own, on a network of theirs"),
		liveRestore(),
	}
}

// number is a setting from 1 to most, of which each takes so long to set up.
func number(name string, most int, each time.Duration, title string) driver.OwnSetting {
	return driver.OwnSetting{
		SettingSpec: study.SettingSpec{Name: name, Values: "a number from 1 to " + strconv.Itoa(most), Valid: driver.Within(1, most)},
		Title:       title,
		Takes:       func(v string) time.Duration { return time.Duration(numberIn(v)) * each },
	}
}

// numberIn is the value of such a setting, 0 of an absent one.
func numberIn(value string) int {
	n, _ := strconv.Atoi(value)
	return n
}

// settingTrusted is the setting of docker/direct-routing.
const settingTrusted = "trusted_interface"

func trustedInterface() []driver.OwnSetting {
	valid := func(v string) bool { return v == study.On || v == study.Off }
	return []driver.OwnSetting{{
		SettingSpec: study.SettingSpec{Name: settingTrusted, Values: "on or off", Valid: valid},
		Title:       "the network trusts the underlay device (com.docker.network.bridge.trusted_host_interfaces)",
	}}
}

// settingEndpoint is the setting of docker/ingress, and endpointOther its only value.
const (
	settingEndpoint = "endpoint"
	endpointOther   = "other"
)

func endpoint() []driver.OwnSetting {
	return []driver.OwnSetting{{
		SettingSpec: study.SettingSpec{Name: settingEndpoint, Values: endpointOther, Valid: func(v string) bool { return v == endpointOther }},
		Title:       "the client dials a node on which no task of the service runs",
	}}
}
