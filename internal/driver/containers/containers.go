// Package containers is what drivers that build modes with Docker Engines have in common,
// whoever owns the engines: how containers and networks are named, addressed, limited and
// described, and how the ends of a Swarm's network come to know of each other.
package containers

import (
	"strconv"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/result"
	"tare/internal/study"
)

// The baselines, by the ids that the embedded driver has for them.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// The roles of containers.
const (
	Client = "client"
	Server = "server"
)

// SwarmSetupTime is how long a mode takes to be made and taken down for which a Swarm may have
// to be made as well, about.
const SwarmSetupTime = 5 * time.Second

// Traits adds to modes what their ids tell: which ends are containers, and so can be
// limited; whether the network's driver has options; how long it takes, which is takes
// for all without a Swarm.
func Traits(modes []driver.Mode, takes time.Duration) []driver.Mode {
	for i := range modes {
		m := &modes[i]
		m.Limits, m.SetupTime = study.Ends{Client: true, Server: true}, takes
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
			m.SetupTime = SwarmSetupTime
		}
	}
	return modes
}

// Parameter is the name that a mode has in the place of NAME.
func Parameter(mode string) string {
	_, name, _ := strings.Cut(mode, ":")
	return name
}

// ContainerName is a container's name in its pair: client, client2, client3.
func ContainerName(role string, pair int) string {
	if pair == 1 {
		return role
	}
	return role + strconv.Itoa(pair)
}

// RoleLimit is what the container in a role may use.
func RoleLimit(l study.Limits, role string) study.Limit {
	if role == Client {
		return l.Client
	}
	return l.Server
}

// LimitText says what a container may use; "" when it is not limited.
func LimitText(l study.Limit) string {
	var parts []string
	if l.CPUs > 0 {
		parts = append(parts, strconv.FormatFloat(l.CPUs, 'g', -1, 64)+" CPUs")
	}
	if l.Memory > 0 {
		parts = append(parts, "memory "+l.Memory.String())
	}
	return strings.Join(parts, ", ")
}

// LimitFact tells of a limit that an engine applies to the container in a role, as read
// back; of none it tells nothing.
func LimitFact(role string, l study.Limit) []result.Fact {
	if text := LimitText(l); text != "" {
		return []result.Fact{{Name: role + " limit", Value: text}}
	}
	return nil
}

// VersionFacts are what the engine of a host says of itself.
func VersionFacts(host string, e *engine.Engine) []result.Fact {
	facts := e.Versions.Facts()
	for i := range facts {
		facts[i].Name = host + " " + facts[i].Name
	}
	return facts
}

// ProcessStep is the agent of a container in a drawing.
func ProcessStep(at pathspec.Place, e *engine.Engine, c *engine.Container) pathspec.Step {
	facts := []result.Fact{{Name: "engine", Value: e.Versions.Engine}, {Name: "container", Value: c.Name}}
	if l := LimitText(c.Limit); l != "" {
		facts = append(facts, result.Fact{Name: "limit", Value: l})
	}
	return pathspec.ProcessStep(at, facts...)
}

// Sysctls are the settings of a lab's sandboxes, as an engine wants them named.
// Nothing is said of IPv6, which an engine switches by network.
func Sysctls(settings [][2]string) map[string]string {
	out := map[string]string{}
	for _, s := range settings {
		if strings.HasPrefix(s[0], "net/ipv4/") {
			out[strings.ReplaceAll(s[0], "/", ".")] = s[1]
		}
	}
	return out
}
