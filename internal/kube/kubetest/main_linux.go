package kubetest

import (
	"fmt"
	"os"
	"testing"

	"tare/internal/driver/drivertest"
)

// Main is drivertest.Main for packages with tests on a cluster: the test program is also the
// first process of each node.
func Main(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == initCommand {
		fmt.Fprintln(os.Stderr, initCommand, initMain(os.Args[2]))
		os.Exit(1)
	}
	drivertest.Main(m)
}
