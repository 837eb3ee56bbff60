package docker

import (
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/study"
)

// What a mode takes to be made and taken down, about: an engine on each host that
// needs one, containers, agents; for an overlay a Swarm as well. On an engine that
// exists it is containers and agents.
const (
	takesEngines = 2500 * time.Millisecond
	takesSwarm   = 5 * time.Second
	takesGuest   = 2 * time.Second
)

// told adds what the ids of modes tell: which ends are containers, and so can be
// limited; whether the network's driver has options; how long it takes.
func told(modes []driver.Mode) []driver.Mode {
	for i := range modes {
		m := &modes[i]
		m.Limits, m.Takes = study.Ends{Client: true, Server: true}, takesEngines
		switch {
		case !strings.HasPrefix(m.ID, "docker/"): // a raw host, of an existing engine
			m.Limits = study.Ends{}
		case m.ID == "docker/published", m.ID == "docker/userland-proxy":
			m.Limits.Client = false
		case m.ID == "docker/to-host":
			m.Limits.Server = false
		case strings.HasPrefix(m.ID, "docker/driver:"):
			m.Options = true
		case strings.HasPrefix(m.ID, "docker/overlay"):
			m.Takes = takesSwarm
		}
	}
	return modes
}

// toldOfGuest is the same for engines that exist: there, macvlan and ipvlan have to
// be told which link of the hosts they are to use.
func toldOfGuest(modes []driver.Mode) []driver.Mode {
	modes = told(modes)
	for i := range modes {
		m := &modes[i]
		m.Options = m.Options || m.ID == "docker/macvlan" || m.ID == "docker/ipvlan"
		if m.Takes != takesSwarm { // one may have to be made there as well
			m.Takes = takesGuest
		}
	}
	return modes
}
