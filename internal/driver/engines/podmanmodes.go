package engines

import (
	"time"

	"tare/internal/driver/containers"
	"tare/internal/study"
)

// podmanTime is roughly how long setting up and removing a mode takes: Podman starts a dozen
// programs for each container.
const podmanTime = 4 * time.Second

// optionBackend is the option of the modes with a bridge that selects Podman's network backend.
const optionBackend = "backend"

// The programs that connect an ordinary user's containers.
const (
	rootlessport = "rootlessport"
	slirp4netns  = "slirp4netns"
	pastaProgram = "pasta"
)

// podmanModes lists the modes of Podmans. Those of an ordinary user end in the network of its containers.
func podmanModes() []mode {
	both, onB, client := hostSet{a: true, b: true}, hostSet{b: true}, study.Ends{Client: true}
	const far = containers.Host
	return []mode{
		{id: "podman/host", title: "both endpoints in Podman containers on the host network", baseline: far, podman: true, engines: both, build: hostNetwork{}},
		{id: "podman/published", title: "raw client, server in a Podman container with a published port", baseline: far, podman: true,
			engines: onB, raw: client, options: true, programs: []string{"iptables"}, build: published{}},
		{id: "podman/bridge", title: "both endpoints in Podman containers on the default bridge, masqueraded and published", baseline: far, podman: true,
			engines: both, options: true, programs: []string{"iptables"}, build: published{masqueraded: true}},
		{id: "podman/rootless-slirp4netns", title: "raw client, server in a container of an ordinary user's Podman, port published by rootlessport", baseline: far, podman: true,
			engines: onB, raw: client, rootless: true, programs: []string{slirp4netns, rootlessport}, build: userMode{program: slirp4netns}},
		{id: "podman/rootless-pasta", title: "raw client, server in a container of an ordinary user's Podman, port published by pasta", baseline: far, podman: true,
			engines: onB, raw: client, rootless: true, programs: []string{pastaProgram}, build: userMode{program: pastaProgram}},
	}
}
