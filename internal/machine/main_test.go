package machine_test

import (
	"context"
	"os"
	"testing"

	"tare/internal/cli"
	"tare/internal/machine"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
)

// TestMain also runs gc, as the copy of this program on another machine does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "gc" {
		if err := machine.Follow(); err != nil {
			panic(err)
		}
		os.Exit(cli.New(result.Build{Version: "test"}).Main(context.Background(), os.Args[1:]))
	}
	drivertest.MainInNamespaces(m)
}
