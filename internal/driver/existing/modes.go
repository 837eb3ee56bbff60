package existing

import (
	"context"
	"fmt"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/study"
)

// mode is a mode on existing engines with all that is known of it.
type mode struct {
	id, title string
	near      bool       // both endpoints are always on the first host, with whose loopback it is compared
	far       bool       // requires two hosts
	raw       study.Ends // endpoints that are processes of their host: a machine needs no engine for the client
	// Containers of the mode join the default bridge, or a network that its name says. An engine may lack either.
	bridge, network bool
	swarm           bool // the engines may have to form a Swarm
	options         bool // accepts options for the network driver
	build           func(*path, context.Context) error
	// desktop replaces build if the engine runs in a virtual machine on this machine: the
	// client is a process of the desktop, and so is the server if alone is set.
	desktop func(*path, context.Context) error
	alone   bool
}

// modes lists the modes. macvlan and ipvlan require options, because tare cannot know which host interface
// to use.
func modes() []mode {
	client, server, both := study.Ends{Client: true}, study.Ends{Server: true}, study.Ends{Client: true, Server: true}
	return []mode{
		{id: containers.Host, title: "process on one host to process on the other, both started by their engines", far: true, raw: both, build: (*path).hosts},
		{id: containers.HostLocal, title: "two processes on one host, through the host's address, started by its engine", near: true, raw: both,
			build: (*path).hosts, desktop: (*path).onLoopback, alone: true},
		{id: "docker/host", title: "both endpoints in containers on the host network", build: (*path).hosts},
		{id: "docker/published", title: "raw client, server in a container with a published port", bridge: true, raw: client,
			build: (*path).published, desktop: (*path).fromDesktop},
		{id: "docker/bridge", title: "both endpoints in containers on the default bridge, masqueraded and published", bridge: true, far: true, build: (*path).bridge},
		{id: "docker/colocated", title: "two containers on one bridge", bridge: true, near: true, build: (*path).colocated},
		{id: "docker/to-host", title: "container to a process on the same host", bridge: true, near: true, raw: server, build: (*path).toHost},
		{id: "docker/userland-proxy", title: "process to a container on the same host, through docker-proxy", bridge: true, near: true, raw: client, build: (*path).userlandProxy},
		{id: "docker/macvlan", title: "both endpoints on macvlan devices of a host interface", far: true, options: true, build: (*path).linkNetwork},
		{id: "docker/ipvlan", title: "both endpoints on ipvlan devices of a host interface", far: true, options: true, build: (*path).linkNetwork},
		{id: "docker/overlay", title: "both endpoints on an overlay network of a Swarm", far: true, swarm: true, build: (*path).overlay},
		{id: "docker/overlay-encrypted", title: "both endpoints on an encrypted overlay network of a Swarm", far: true, swarm: true, build: (*path).overlay},
		{id: "docker/network:NAME", title: "both endpoints on an existing network", network: true, build: (*path).network},
		{id: "docker/driver:NAME", title: "both endpoints on a network created with a driver that the user names", options: true, build: (*path).withDriver},
	}
}

// setupTime is roughly how long setting up and removing a mode takes that consists of
// containers and agents.
const setupTime = 2 * time.Second

// Modes lists the modes. With one engine all are compared with the host's loopback; with
// two, modes across the wire are compared with the raw hosts.
func (d *Driver) Modes() (all []driver.Mode) {
	for _, m := range modes() {
		out := driver.Mode{ID: m.id, Title: m.title, Baseline: containers.Host, Options: m.options, SetupTime: setupTime,
			Limits: study.Ends{Client: !m.raw.Client, Server: !m.raw.Server}}
		switch {
		case m.id == containers.Host || m.id == containers.HostLocal:
			out.Baseline = ""
		case m.near || len(d.hosts) == 1:
			out.Baseline = containers.HostLocal
		}
		if m.swarm {
			out.SetupTime = containers.SwarmSetupTime
		}
		all = append(all, out)
	}
	return all
}

// modeOf is the mode of a name, which may have a parameter.
func modeOf(name string) (m mode, known bool) {
	for _, m := range modes() {
		if study.Fits(m.id, name) {
			return m, true
		}
	}
	return mode{}, false
}

// modeFor returns the mode of an order, or an error if these engines cannot provide it.
func (d *Driver) modeFor(o driver.Order) (mode, error) {
	unsupported := func(format string, args ...any) (mode, error) {
		return mode{}, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	if err := o.CheckPairs(); err != nil {
		return mode{}, err
	}
	if len(o.With) > 0 {
		return unsupported("nothing is left out or set on an existing engine, because that would change the user's machine; run it on a lab: --engine lab")
	}
	m, known := modeOf(o.Mode)
	switch {
	case !known:
		return mode{}, fmt.Errorf("mode %q is not available on existing engines", o.Mode)
	case m.far && d.desktop():
		return unsupported("this mode requires two hosts with an engine each; the engine runs in a virtual machine on this machine, where docker/published, docker/host and host-local are measured")
	case m.far && len(d.hosts) < 2:
		return unsupported("this mode requires two hosts with an engine each; only one was given")
	}
	return m, nil
}
