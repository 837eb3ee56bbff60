// Command tare weighs container networks.
package main

import (
	"context"
	"os"

	"tare/internal/cli"
	"tare/internal/inner"
	"tare/internal/result"
)

// Set by the linker; see the Makefile.
var (
	version = "dev"
	commit  = ""
)

func main() {
	inner.Main(os.Args, version)
	os.Exit(cli.New(result.Build{Version: version, Commit: commit}).Main(context.Background(), os.Args[1:]))
}
