package winetest_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/agent"
)

// TestMain makes the test an agent, which is the Linux endpoint.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.Command {
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout, "test"); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
