// Command tare weighs container networks.
package main

import (
	"context"
	"fmt"
	"os"

	"tare/internal/cli"
	"tare/internal/driver/subcommand"
	"tare/internal/result"
)

// Set by the linker; see the Makefile.
var (
	version = "dev"
	commit  = ""
	date    = "" // of the commit
)

func main() {
	ctx := context.Background()
	// An agent starts without the command line: it has to be ready in moments.
	done, err := subcommand.Run(ctx, os.Args, version)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if done {
		return
	}
	build, date := cli.Stamp(result.Build{Version: version, Commit: commit}, date)
	app := cli.New(build)
	app.Date = date
	app.Plugin = cli.IsPlugin(os.Args[0])
	os.Exit(app.Main(ctx, os.Args[1:]))
}
