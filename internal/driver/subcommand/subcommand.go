// Package subcommand runs the hidden subcommands under which drivers and engines start this
// program.
package subcommand

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/driver/cni"
	"tare/internal/driver/daemon"
	"tare/internal/driver/ipsec"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/mesh"
	"tare/internal/driver/netns"
	"tare/internal/driver/ovs"
	"tare/internal/driver/proxy"
	"tare/internal/driver/rootless"
	"tare/internal/driver/split"
	"tare/internal/driver/wireguard"
	"tare/internal/engine/private"
	"tare/internal/guest"
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
	case private.InitCommand:
		return true, private.Init(args[2:])
	case guest.InitCommand:
		return true, guest.Init(args[2:])
	case daemon.Command:
		return true, daemon.Init(args[2:], os.Stdin)
	case wireguard.Command:
		return true, prefixError("tare "+wireguard.Command, wireguard.Serve(os.Stdin, os.Stdout))
	case proxy.Command:
		return true, prefixError("tare "+proxy.Command, proxy.Serve(os.Stdin, os.Stdout))
	case cni.Command:
		return true, prefixError("tare "+cni.Command, cni.Serve(os.Stdin, os.Stdout))
	case split.Command:
		if len(args) < 4 {
			return true, fmt.Errorf("tare %s: the run's id is missing", split.Command)
		}
		return true, prefixError("tare "+split.Command, split.Serve(os.Stdin, os.Stdout, args[3], version, SplitDrivers()))
	case split.EnterCommand:
		return true, prefixError("tare "+split.EnterCommand, split.Enter(args[2:]))
	}
	return false, nil
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
