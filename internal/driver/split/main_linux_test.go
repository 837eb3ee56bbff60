package split_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"tare/internal/testkit/drivertest"
)

// doomed is the environment variable that makes this test binary a controller that builds a
// mode between two machines and waits until it is killed.
const doomed = "TARE_TEST_DOOMED"

func TestMain(m *testing.M) {
	drivertest.UsePrograms("nebula")
	if os.Getenv(doomed) != "" && len(os.Args) == 1 {
		if err := stand(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	drivertest.Main(m)
}

// stand builds the mode, prints the run's id, and waits.
func stand() error {
	b, end, err := benchOf()
	if err != nil {
		return err
	}
	defer end()
	if _, err := b.driver.Provision(context.Background(), b.order(os.Getenv(doomed), 1, nil)); err != nil {
		return err
	}
	fmt.Println(b.run)
	time.Sleep(time.Minute)
	return nil
}
