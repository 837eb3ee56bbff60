// Package inner is what this program is to itself: the commands that it starts its
// own copies with, in sandboxes, in containers and as the first process of a private
// engine. They start without the command line, because an agent has to be ready in
// moments. Tests and benchmarks start themselves in the same way.
package inner

import (
	"context"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/engine"
)

// Main does what one of those commands asks for and ends the process; for any other
// arguments it returns. args begin with the program's name.
func Main(args []string, version string) {
	if len(args) < 2 {
		return
	}
	var err error
	switch args[1] {
	case agent.Command:
		err = agent.Serve(context.Background(), os.Stdin, os.Stdout, version)
	case agent.HoldCommand:
		err = agent.HoldMain(args[2:])
	case engine.InitCommand:
		err = engine.Init(args[2:])
	default:
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tare %s: %v\n", args[1], err)
		os.Exit(1)
	}
	os.Exit(0)
}
