package engine_test

import (
	"os"
	"testing"
	"time"

	"tare/internal/driver/drivertest"
)

// eater is the argument that makes the test binary, started in a container, use
// more memory than it may.
const eater = "eat"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == eater {
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
	drivertest.Main(m)
}
