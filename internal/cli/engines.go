package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/study"
)

// engineFlags choose the engines that build the docker modes.
type engineFlags struct {
	engines []string
	yes     bool
}

func (f *engineFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.engines, "engine", nil, "Docker Engine of the docker modes: lab (private ones), docker, docker:CONTEXT, unix://, tcp:// or ssh://;\n"+
		"given twice as ENGINE=ADDRESS: two existing engines, the client's first, with the address each is reached at")
	c.Flags().BoolVar(&f.yes, "yes", false, "allow a Swarm to be made on existing engines for the run, and left again")
}

// choice is what the flags say of engines; nothing where they are not given.
func (f *engineFlags) choice() (study.Engines, error) {
	e, err := f.parse()
	if err == nil && len(f.engines) > 0 {
		if err = e.Check(); err != nil {
			err = fmt.Errorf("--engine: %w", err)
		}
	}
	return e, err
}

func (f *engineFlags) parse() (study.Engines, error) {
	var none study.Engines
	switch len(f.engines) {
	case 0:
		return none, nil
	case 1:
		return study.Engines{Engine: f.engines[0]}, nil
	case 2:
		var e study.Engines
		for _, given := range f.engines {
			at := strings.LastIndex(given, "=")
			if at <= 0 || at == len(given)-1 {
				return none, fmt.Errorf("--engine %s: of two engines each needs the address at which the other host reaches it: --engine %s=ADDRESS", given, strings.TrimSuffix(given, "="))
			}
			e.Hosts = append(e.Hosts, study.Host{Engine: given[:at], Address: given[at+1:]})
		}
		return e, nil
	}
	return none, fmt.Errorf("--engine was given %d times; want it once, or twice for two hosts", len(f.engines))
}

// on is the program with the drivers for these engines: those of labs, or one for
// engines that exist.
func (a App) on(e study.Engines, allowSwarm bool) App {
	if !e.Existing() {
		return a
	}
	var hosts []docker.Host
	if len(e.Hosts) == 0 {
		hosts = []docker.Host{{Target: e.Engine}}
	}
	for _, h := range e.Hosts {
		// A bad address is the study's to complain about, with its line.
		addr, _ := netip.ParseAddr(h.Address)
		hosts = append(hosts, docker.Host{Name: h.Name, Target: h.Engine, Address: addr})
	}
	a.guest = docker.Existing(hosts, allowSwarm)
	a.lab, a.named, a.allowSwarm, a.Drivers = a.Drivers, e, allowSwarm, driver.Registry{a.guest}
	return a
}

// reach makes sure that modes can be built: on engines that exist, by speaking to
// each; on a lab, by entering a user namespace where that is needed. done means
// that another process did the work and code is its exit code.
func (a App) reach(ctx context.Context) (done bool, code int, err error) {
	if a.guest == nil {
		return enter(ctx)
	}
	if err := a.guest.Open(ctx); err != nil {
		return false, 0, environment(err)
	}
	return false, 0, nil
}

// leave lets go of engines that exist.
func (a App) leave() error {
	if a.guest == nil {
		return nil
	}
	return a.guest.Close()
}

// local reports whether the engines are on this machine, as far as their names
// tell: what is known of its CPUs then holds for the ends.
func local(e study.Engines) bool {
	if !e.Existing() {
		return true
	}
	names := []string{e.Engine}
	if len(e.Hosts) > 0 {
		names = nil
	}
	for _, h := range e.Hosts {
		names = append(names, h.Engine)
	}
	for _, name := range names {
		if name == "docker" {
			name = cmp.Or(os.Getenv("DOCKER_HOST"), "unix://")
		}
		if !strings.HasPrefix(name, "unix://") {
			return false
		}
	}
	return true
}
