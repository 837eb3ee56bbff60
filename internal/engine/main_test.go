package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"tare/internal/testkit/drivertest"
)

// What the test binary does in a container with one of these arguments.
const (
	memoryHog = "eat"    // use more memory than allowed
	parent    = "parent" // leave an orphan behind
	orphan    = "orphan" // report that it is one, and exit
)

func TestMain(m *testing.M) {
	switch arg := os.Args[len(os.Args)-1]; {
	case len(os.Args) == 2 && arg == parent:
		c := exec.Command("/proc/self/exe", orphan)
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) == 2 && arg == orphan:
		for os.Getppid() != 1 {
			time.Sleep(time.Millisecond)
		}
		fmt.Print("orphan")
		os.Exit(0)
	case len(os.Args) == 2 && arg == memoryHog:
		drivertest.HogMemory()
	}
	drivertest.MainInNamespaces(m)
}
