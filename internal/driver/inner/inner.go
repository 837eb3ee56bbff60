// Package inner is what this program is for where a driver has put it: the hidden
// subcommands of all rooms.
package inner

import (
	"context"
	"fmt"
	"os"

	"tare/internal/driver/daemon"
	"tare/internal/driver/wireguard"
	"tare/internal/engine"
)

// Inner does what args ask for where that is a hidden subcommand, and reports whether it
// was; then the program has nothing more to do. args are those of the program, its name
// first. It is what main calls first: an agent has to be ready in moments.
func Inner(ctx context.Context, args []string, version string) (done bool, err error) {
	if len(args) < 2 {
		return false, nil
	}
	switch args[1] {
	case daemon.Command:
		return true, daemon.Init(args[2:], os.Stdin)
	case wireguard.Command:
		if err := wireguard.Serve(os.Stdin, os.Stdout); err != nil {
			return true, fmt.Errorf("tare %s: %w", wireguard.Command, err)
		}
		return true, nil
	}
	return engine.Inner(ctx, args, version)
}
