package subcommand

import (
	"fmt"
	"os"

	"tare/internal/driver/cni"
	"tare/internal/driver/daemon"
	"tare/internal/driver/proxy"
	"tare/internal/driver/split"
	"tare/internal/driver/wireguard"
	"tare/internal/engine/private"
	"tare/internal/guest"
)

// onLinux executes the subcommands of drivers and engines that exist on Linux only.
func onLinux(args []string, version string) (done bool, err error) {
	switch args[1] {
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
