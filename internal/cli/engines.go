package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
