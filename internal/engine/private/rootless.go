package private

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/lab"
	"tare/internal/study"
)

// Rootless is how RootlessKit, which starts an engine for an ordinary user, connects it to the network.
type Rootless struct {
	Net  string // network driver: what is between the engine's network namespace and its host
	Port string // port driver: what passes connections to published ports into that namespace
	MTU  int    // of the network driver's device
}

// rootlessMTU is the MTU that Docker chooses for a network driver, and the maximum of all.
const rootlessMTU = 65520

// portDrivers lists the port drivers that RootlessKit has for a network driver, Docker's default first.
func portDrivers(network string) []string {
	switch network {
	case study.RootlessPasta:
		return []string{study.RootlessImplicit}
	case study.RootlessSlirp:
		return []string{study.RootlessBuiltin, study.RootlessSlirp}
	case study.RootlessGvisor:
		return []string{study.RootlessBuiltin, study.RootlessGvisor}
	}
	return []string{study.RootlessBuiltin}
}

// RootlessOf returns the drivers that a study asks for. What it leaves open is chosen as by
// dockerd-rootless.sh of Docker. mtu is 0 for Docker's default.
func (i Installation) RootlessOf(asked study.Engine, mtu int) (*Rootless, error) {
	return rootlessWith(func(program string) error {
		_, err := i.lookup(program)
		return err
	}, asked, mtu)
}

// rootlessWith is RootlessOf with a function that returns why a program cannot be found.
func rootlessWith(find func(program string) error, asked study.Engine, mtu int) (*Rootless, error) {
	r := &Rootless{Net: asked.RootlessNet, Port: asked.RootlessPort, MTU: cmp.Or(mtu, rootlessMTU)}
	if r.MTU < lab.MinMTU || r.MTU > rootlessMTU {
		return nil, fmt.Errorf("a rootless engine cannot have an MTU of %d; RootlessKit's network drivers support %d to %d", r.MTU, lab.MinMTU, rootlessMTU)
	}
	if r.Net == "" {
		r.Net = defaultNet(find, asked.RootlessPort)
	}
	can := portDrivers(r.Net)
	r.Port = cmp.Or(r.Port, can[0])
	if !slices.Contains(can, r.Port) {
		return nil, fmt.Errorf("RootlessKit's network driver %s does not work with the port driver %s; use rootless_port: %s", r.Net, r.Port, strings.Join(can, " or "))
	}
	if r.Net == study.RootlessLXC {
		if err := find(study.RootlessLXC); err != nil {
			return nil, fmt.Errorf("RootlessKit's network driver %s needs the program %s (%w); use another rootless_net", r.Net, r.Net, err)
		}
		return nil, fmt.Errorf("RootlessKit's network driver %s needs a bridge with a DHCP server that the machine's administrator has set up, which a host of the lab does not have; use another rootless_net", r.Net)
	}
	return r, nil
}

// defaultNet returns the network driver that Docker prefers, of those that the port driver, if one is
// given, works with. vpnkit, which Docker prefers to gvisor-tap-vsock if it is installed, is not supported.
func defaultNet(find func(program string) error, port string) string {
	for _, network := range []string{study.RootlessSlirp, study.RootlessPasta} {
		if find(network) == nil && (port == "" || slices.Contains(portDrivers(network), port)) {
			return network
		}
	}
	return study.RootlessGvisor
}

// programs returns the programs that a rootless engine needs beside those of every engine.
func (r *Rootless) programs() []string {
	needed := []string{"newuidmap", "newgidmap", "nsenter"}
	if r.Net == study.RootlessSlirp || r.Net == study.RootlessPasta { // each is named after its program
		needed = append(needed, r.Net)
	}
	return needed
}

// rootlesskits are the names of RootlessKit's program, in the order in which Docker looks for them.
func rootlesskits() []string { return []string{"docker-rootlesskit", "rootlesskit"} }

// rootlesskit finds RootlessKit.
func (i Installation) rootlesskit() (path string, err error) {
	for _, name := range rootlesskits() {
		if path, err = i.lookup(name); err == nil {
			return path, nil
		}
	}
	return "", err
}
