package private_test

import (
	"os"
	"testing"

	"tare/internal/testkit/drivertest"
)

// memoryHog is the argument with which the test binary uses more memory than is allowed.
const memoryHog = "eat"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == memoryHog {
		drivertest.HogMemory()
	}
	drivertest.MainInNamespaces(m)
}
