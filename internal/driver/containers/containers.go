// Package containers is shared by drivers that build modes with Docker Engines, private or
// existing: addresses, limits and descriptions of containers and networks, and how
// the engines of a Swarm learn of each other's containers. Pods have the same roles and limits.
package containers

import (
	"strconv"
	"strings"
	"time"

	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/result"
	"tare/internal/study"
)

// The baselines, by the ids of the netns driver.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// The roles of containers.
const (
	Client = "client"
	Server = "server"
)

// MTUKey is where the MTU of a network is set, in Markdown.
const MTUKey = "`--opt com.docker.network.driver.mtu`, in Podman `--opt mtu`"

// SwarmSetupTime is roughly how long setting up and removing a mode takes that may need a
// new Swarm.
const SwarmSetupTime = 5 * time.Second

// Parameter returns the name that replaces NAME in a mode.
func Parameter(mode string) string {
	_, name, _ := strings.Cut(mode, ":")
	return name
}

// RoleLimit returns the limits of the container in a role.
func RoleLimit(l study.Limits, role string) study.Limit {
	if role == Client {
		return l.Client
	}
	return l.Server
}

// LimitText describes a container's limits; "" if there are none.
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

// LimitFact returns a fact for limits that an engine applies to the container in a role, as
// read back; nil if there are none.
func LimitFact(role string, l study.Limit) []result.Fact {
	if text := LimitText(l); text != "" {
		return []result.Fact{{Name: role + " limit", Value: text}}
	}
	return nil
}

// VersionFacts returns the versions that the engine of a host reports.
func VersionFacts(host string, e *engine.Engine) []result.Fact {
	facts := e.Versions.Facts()
	for i := range facts {
		facts[i].Name = host + " " + facts[i].Name
	}
	return facts
}

// ProcessStep returns the step for a container's agent.
func ProcessStep(at pathspec.Place, e *engine.Engine, c *engine.Container) pathspec.Step {
	facts := []result.Fact{{Name: "engine", Value: e.Versions.Engine}, {Name: "container", Value: c.Name}}
	if l := LimitText(c.Limit); l != "" {
		facts = append(facts, result.Fact{Name: "limit", Value: l})
	}
	return pathspec.ProcessStep(at, facts...)
}

// Sysctls converts the settings of a lab's sandboxes to the engine's format. IPv6 settings
// are omitted, because an engine sets them by network.
func Sysctls(settings [][2]string) map[string]string {
	out := map[string]string{}
	for _, s := range settings {
		if strings.HasPrefix(s[0], "net/ipv4/") {
			out[strings.ReplaceAll(s[0], "/", ".")] = s[1]
		}
	}
	return out
}
