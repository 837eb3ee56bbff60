package docker

import (
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/study"
)

// What a mode takes to be made and taken down, about: an engine on each host that
// needs one, containers, agents; for an overlay a Swarm as well.
const (
	takesEngines = 2500 * time.Millisecond
	takesSwarm   = 5 * time.Second
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
