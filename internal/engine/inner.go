package engine

import (
	"context"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/guest"
)

// Inner does what the program is for where a driver has put it: as an agent, as the
// first process of a container, of a private engine or of a virtual machine. args are those of the
// program, its name first. It reports whether that was what args asked for; then the
// program has nothing more to do.
func Inner(ctx context.Context, args []string, version string) (done bool, err error) {
	if len(args) < 2 {
		return false, nil
	}
	switch args[1] {
	case agent.Command:
		return true, named("tare agent", agent.Serve(ctx, os.Stdin, os.Stdout, version))
	case agent.HoldCommand:
		return true, named("tare hold", agent.HoldMain(args[2:]))
	case InitCommand:
		return true, Init(args[2:])
	case guest.InitCommand:
		return true, guest.Init(args[2:])
	}
	return false, nil
}

func named(who string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", who, err)
}
