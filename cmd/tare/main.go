// Command tare weighs container networks.
package main

import (
	"context"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/cli"
	"tare/internal/engine"
	"tare/internal/result"
)

// Set by the linker; see the Makefile.
var (
	version = "dev"
	commit  = ""
)

func main() {
	ctx := context.Background()
	// An agent starts without the command line: it has to be ready in moments.
	if len(os.Args) > 1 && os.Args[1] == agent.Command {
		if err := agent.Serve(ctx, os.Stdin, os.Stdout, version); err != nil {
			fmt.Fprintf(os.Stderr, "tare agent: %v\n", err)
			os.Exit(1)
		}
		return
	}
	// So does the first process of a container.
	if len(os.Args) > 1 && os.Args[1] == agent.HoldCommand {
		if err := agent.HoldMain(os.Args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "tare hold: %v\n", err)
			os.Exit(1)
		}
		return
	}
	// So does the first process of a private engine.
	if len(os.Args) > 1 && os.Args[1] == engine.InitCommand {
		if err := engine.Init(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(cli.New(result.Build{Version: version, Commit: commit}).Main(ctx, os.Args[1:]))
}
