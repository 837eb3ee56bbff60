package private_test

import (
	"os"
	"testing"
	"time"

	"tare/internal/testkit/drivertest"
)

// memoryHog is the argument with which the test binary uses more memory than is allowed.
const memoryHog = "eat"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == memoryHog {
		var held [][]byte
		for range 64 {
			b := make([]byte, 8<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
		time.Sleep(time.Duration(len(held)) * time.Second)
		os.Exit(3)
	}
	drivertest.MainInNamespaces(m)
}
