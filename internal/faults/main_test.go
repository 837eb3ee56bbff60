//go:build linux

package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/cli"
	"tare/internal/driver/subcommand"
	"tare/internal/result"
	"tare/internal/testkit/testns"
)

var (
	faultCount  = flag.Int("faults", 20, "number of faults to try")
	faultSeed   = flag.Uint64("seed", 1, "seed of the faults, their modes and their moments")
	faultKinds  = flag.String("kinds", "", "only these kinds of faults, separated by commas")
	faultModes  = flag.String("modes", "netns,tunnel,rootless,docker", "groups of modes, separated by commas: netns, tunnel, rootless, docker, vm")
	faultCase   = flag.Int("case", -1, "only the fault with this number, from 0")
	soakTrials  = flag.Int("trials", 200, "number of trials of TestFaultsSoak")
	peerCount   = flag.Int("peers", 60, "number of commands of TestFaultsPeers")
	pairsAtMost = flag.Int("pairs", 50, "largest number of pairs of endpoints of TestFaultsPairs")
)

// TestMain makes this binary the program under test, too: called as tare, it is tare.
func TestMain(m *testing.M) {
	testns.First()
	done, err := subcommand.Run(context.Background(), os.Args, "test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch name := filepath.Base(os.Args[0]); {
	case done:
		return
	case name == "tare":
		app := cli.New(result.Build{Version: "test", Commit: "0123456"})
		app.Program = os.Args[0]
		os.Exit(app.Main(context.Background(), os.Args[1:]))
	case name == peerName:
		os.Exit(peerMain(os.Args[1:]))
	case name == hogName:
		os.Exit(hogMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}
