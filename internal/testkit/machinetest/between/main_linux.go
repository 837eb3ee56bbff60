// Command between runs a command on a machine of the tests, from which ssh reaches another one as db1, so that a
// contributor can use tare as a user with two machines does:
//
//	go run ./internal/testkit/machinetest/between bin/tare run --host local --host ssh://db1 --out tare-runs/machines
//
// Both are network namespaces on a link of their own, db1 with an ssh server. They end with the command.
package main

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"tare/internal/testkit/machinetest"
)

func main() {
	args := os.Args[1:]
	testing.Init()
	if err := flag.CommandLine.Parse([]string{"-test.timeout=0", "-test.v"}); err != nil {
		panic(err) // both are flags of package testing
	}
	// The machines belong to a test, which ends them whatever happens.
	between := func(t *testing.T) {
		b := machinetest.New(t, machinetest.Spec{Name: "db1"})
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		c.Env, c.Stdin, c.Stdout, c.Stderr = b.Environment(), os.Stdin, os.Stdout, os.Stderr
		if err := b.Controller.Start(c); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	every := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(every, []testing.InternalTest{{Name: "Between", F: between}}, nil, nil)
}
