// Package engines builds network modes with real container engines on the hosts of labs: Docker Engines
// and Podmans. The engine creates the networks and containers, over its API; this package requests them,
// finds the resulting devices, rules and processes, and declares what those must show.
//
// Each mode has its own lab with a private engine on each host that needs one, so that the
// rules, bridges and networks of one mode do not affect another.
package engines

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/setting"
	"tare/internal/study"
	"tare/internal/traffic"
)

// mode is a mode with all that is known of it.
type mode struct {
	id, title, baseline string
	engines             hostSet    // hosts that need an engine
	raw                 study.Ends // endpoints that are processes of their host; the client is on a
	parts               []driver.Part
	needs               []requirement
	own                 []driver.OwnSetting
	programs            []string // that Podman requires for the mode
	podman              bool     // the engines are Podmans
	swarm               bool     // the engines form a Swarm
	rootless            bool     // the engine is one of an ordinary user, whose containers have no control groups
	gateway             bool     // the server is on a network that tare creates with Docker's bridge driver
	options, mtu        bool     // as in driver.Mode
	events              []string // as in driver.Mode, besides those of every lab
	headers             int      // as in driver.Mode
	build               builder
}

// builder builds the path of a mode on its hosts, whose engines run.
type builder interface {
	build(ctx context.Context, p *path) error
	isRecipe()
}

// hostSet is a set of hosts of a lab.
type hostSet struct{ a, b bool }

// EngineRestart is the event of the modes whose server is behind the published port of a Docker Engine of root: see restart. They have
// study.EndpointReplaced, too: see successor.
const EngineRestart = "engine_restart"

// settingLiveRestore is the setting of these modes that decides whether containers live on while their engine restarts.
const settingLiveRestore = "live_restore"

func liveRestore() driver.OwnSetting {
	return driver.OwnSetting{
		SettingSpec: study.SettingSpec{Name: settingLiveRestore, Values: "on or off", Valid: func(v string) bool { return v == study.On || v == study.Off }},
		Title:       "whether containers live on in engine_restart (--live-restore), or end and are started again",
	}
}

// endsContainers reports whether the containers of a variant end in engine_restart.
func endsContainers(with map[string]string) bool { return with[settingLiveRestore] == study.Off }

// cannotRenew is Cannot of these modes: why a variant that leaves out rules of the engine has none of these events, and one whose agents or devices are
// not as the engine makes them none in which it makes another container.
func cannotRenew(w study.Workload, _ traffic.Spec, with map[string]string) string {
	restart := w.Event == EngineRestart
	if !restart && w.Event != study.EndpointReplaced {
		return ""
	}
	for _, part := range []string{partDNAT, partChains} {
		switch {
		case with[part] != driver.Off:
		case restart:
			return fmt.Sprintf("an engine that is restarted writes the rules again that %s: off leaves out", part)
		default:
			return fmt.Sprintf("the engine writes the rules again that %s: off leaves out, for the container that takes the place of another", part)
		}
	}
	if restart && !endsContainers(with) {
		return ""
	}
	for _, more := range study.NumberSettings() {
		if _, asked := with[more]; asked {
			return fmt.Sprintf("the engine would start what %s adds in the event %s, which has %s; leave it out", more, w.Event, driver.EventTimeout())
		}
	}
	if with[partCgroup] == driver.Off {
		return "the engine starts the server that takes the place of another in the control groups that cgroup: off leaves out"
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		if slices.Contains(setting.Names(), name) {
			return fmt.Sprintf("in the event %s the engine makes other devices, to which settings are not applied; leave out %s", w.Event, name)
		}
	}
	return ""
}

// modeFor returns the mode of an order with its settings, one of those of a driver.
func modeFor(name string, all []mode, o driver.Order) (mode, error) {
	if stem, open := strings.CutSuffix(o.Mode, ":NAME"); open {
		return mode{}, &driver.Unsupported{Mode: o.Mode, Reason: "replace NAME with a name, as in " + stem + ":fabric"}
	}
	for _, m := range all {
		if study.Fits(m.id, o.Mode) {
			if o.With[settingEndpoint] == endpointOther {
				m.engines = hostSet{a: true, b: true} // the node that is dialled, and that of the task
			}
			return m, nil
		}
	}
	return mode{}, fmt.Errorf("driver %s has no mode %q", name, o.Mode)
}

// offered returns the modes as a driver lists them.
func offered(all []mode) (out []driver.Mode) {
	for _, m := range all {
		o := driver.Mode{
			ID: m.id, Title: m.title, Baseline: m.baseline, Options: m.options || m.gateway, MTU: m.mtu, Headers: m.headers, Engine: !m.podman,
			Limits: study.Ends{Client: !m.raw.Client, Server: !m.raw.Server}, Settings: setting.Names(), Own: m.own, Events: m.events, SetupTime: m.setupTime(), TimesSetup: true,
		}
		if slices.Contains(m.events, EngineRestart) {
			o.Cannot = cannotRenew
		}
		if m.rootless {
			o.Limits = study.Ends{}
		}
		if !m.podman {
			o.Parts = append(m.parts, list(partSeccomp)...)
		}
		switch {
		case m.podman:
		case m.rootless:
			o.Settings = nil
		default:
			o.Parts = append(o.Parts, list(partCgroup)...)
		}
		out = append(out, labdriver.WithEvents(o))
	}
	return out
}

func (m mode) setupTime() time.Duration {
	switch {
	case m.podman:
		return podmanTime
	case m.swarm:
		return containers.SwarmSetupTime
	}
	return dockerTime
}

// Docker builds the modes of Docker Engines on the hosts of labs.
type Docker struct {
	labdriver.LinuxOnly
	// ready is called after the engines of a path have started and before they are used;
	// tests register plugins there. May be nil.
	ready func(ctx context.Context, p *path) error
	// join takes the place of joinWait unless it is 0.
	join time.Duration
}

// Modes lists the modes of Docker Engines.
func (Docker) Modes() []driver.Mode { return offered(dockerModes()) }

// Podman builds the modes of Podmans on the hosts of labs.
type Podman struct{ labdriver.LinuxOnly }

// Modes lists the modes of Podmans.
func (Podman) Modes() []driver.Mode { return offered(podmanModes()) }
