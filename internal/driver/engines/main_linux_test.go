package engines_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/testkit/drivertest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pluginCommand {
		if err := servePlugin(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if filepath.Base(os.Args[0]) == "dockerd" {
		fmt.Fprintln(os.Stderr, answer(os.Args))
		os.Exit(1)
	}
	if os.Getenv(doomed) != "" && len(os.Args) == 1 {
		if err := standDoomed(os.Getenv(doomed)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	drivertest.MainInNamespaces(m)
}
