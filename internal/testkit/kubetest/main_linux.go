package kubetest

import (
	"fmt"
	"os"
	"testing"

	"tare/internal/testkit/drivertest"
)

// First makes this process the first one of a node if it was started as such, and then does not
// return. A TestMain that is not Main calls it before anything else.
func First() {
	if len(os.Args) == 3 && os.Args[1] == initCommand {
		fmt.Fprintln(os.Stderr, initCommand, initMain(os.Args[2]))
		os.Exit(1)
	}
}

// Main is drivertest.Main for packages with tests on a cluster: the test program is also the
// first process of each node.
func Main(m *testing.M) {
	First()
	drivertest.Main(m)
}
