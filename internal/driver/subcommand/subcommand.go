// Package subcommand runs the hidden subcommands under which drivers and engines start this
// program.
package subcommand

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/driver/ipsec"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/mesh"
	"tare/internal/driver/netns"
	"tare/internal/driver/ovs"
	"tare/internal/driver/rootless"
	"tare/internal/driver/wireguard"
	"tare/internal/machine"
	"tare/internal/timelimit"
)

// Run executes the hidden subcommand that args name, if any, and reports whether it did;
// the program then has nothing else to do. args are the program's arguments, starting with
// its name. main calls Run first, because an agent must be ready quickly.
func Run(ctx context.Context, args []string, version string) (done bool, err error) {
	if len(args) < 2 {
		return false, nil
	}
	if err := errors.Join(machine.Follow(), timelimit.FromArguments(args)); err != nil {
		return false, prefixError("tare", err)
	}
	switch args[1] {
	case agent.Command:
		return true, prefixError("tare agent", agent.Serve(ctx, os.Stdin, os.Stdout, version))
	case agent.PauseCommand:
		return true, prefixError("tare hold", agent.PauseMain(args[2:]))
	case machine.Command:
		return true, prefixError("tare "+machine.Command, machine.Main(args[2:]))
	}
	return onLinux(args, version)
}

// SplitDrivers lists the drivers of labs whose modes can be split between two machines.
func SplitDrivers() []labdriver.Driver {
	return []labdriver.Driver{netns.Driver{}, ipsec.Driver{}, wireguard.Driver{}, mesh.Driver{}, rootless.Driver{}, ovs.Driver{}}
}

func prefixError(who string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", who, err)
}
