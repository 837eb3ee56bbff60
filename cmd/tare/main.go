// Command tare measures the network overhead that containers add.
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
	// What is started in sandboxes skips the command line, because it must start quickly.
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
	app.Date, app.Program = date, os.Args[0]
	app.Plugin, app.Kubectl = cli.IsPlugin(os.Args[0]), cli.IsKubectlPlugin(os.Args[0])
	os.Exit(app.Main(ctx, os.Args[1:]))
}
