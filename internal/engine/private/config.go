package private

import (
	"tare/internal/study"
)

// Config is a Docker Engine to start on a host of a lab, with its settings.
type Config struct {
	Installation Installation
	// Firewall is the backend for the engine's rules: study.FirewallIptables,
	// study.FirewallNftables, or empty for the engine's default.
	Firewall string
	NoProxy  bool // published ports have no docker-proxy
	// DirectRouting is study.On or study.Off for the engine's option --allow-direct-routing, or empty
	// for its default.
	DirectRouting string
	Runtime       string    // of the containers: study.RuntimeRunc or another of them, or empty for runc
	Rootless      *Rootless // of an engine of an ordinary user; nil for one of root
	LiveRestore   bool      // containers live on without dockerd, which Restart then can restart; not with Rootless or in a Swarm
	Restarts      bool      // Restart can restart the engine, with which its containers end unless LiveRestore is set; not with Rootless
	Args          []string  // further arguments of dockerd
}

// ConfigOf returns the configuration of the private engines that a study asks for. It fails if this
// machine has no such engine.
func ConfigOf(asked study.Engine) (Config, error) {
	i, err := Find(asked.Lab)
	return Config{Installation: i, Firewall: asked.Firewall, NoProxy: asked.UserlandProxy == study.Off, DirectRouting: asked.DirectRouting, Runtime: asked.Runtime}, err
}
