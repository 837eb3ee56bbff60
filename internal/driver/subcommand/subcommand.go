// Package subcommand is what this program is for where a driver has put it: the hidden
// subcommands of all rooms.
package subcommand

import (
	"context"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/driver/daemon"
	"tare/internal/driver/wireguard"
	"tare/internal/engine/private"
	"tare/internal/guest"
)

// Run does what args ask for where that is a hidden subcommand, and reports whether it
// was; then the program has nothing more to do. args are those of the program, its name
// first. It is what main calls first: an agent has to be ready in moments.
func Run(ctx context.Context, args []string, version string) (done bool, err error) {
	if len(args) < 2 {
		return false, nil
	}
	switch args[1] {
	case agent.Command:
		return true, named("tare agent", agent.Serve(ctx, os.Stdin, os.Stdout, version))
	case agent.PauseCommand:
		return true, named("tare hold", agent.PauseMain(args[2:]))
	case private.InitCommand:
		return true, private.Init(args[2:])
	case guest.InitCommand:
		return true, guest.Init(args[2:])
	case daemon.Command:
		return true, daemon.Init(args[2:], os.Stdin)
	case wireguard.Command:
		return true, named("tare "+wireguard.Command, wireguard.Serve(os.Stdin, os.Stdout))
	}
	return false, nil
}

func named(who string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", who, err)
}
