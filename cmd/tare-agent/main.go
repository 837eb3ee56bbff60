// Command tare-agent is the agent alone, with only what an agent needs. tare contains it and starts
// it in each sandbox; nobody starts it by hand. It accepts the same arguments as tare does for an
// agent.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"tare/internal/agent"
	"tare/internal/program/agentfile"
	"tare/internal/timelimit"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "tare "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	command := ""
	if len(args) > 1 {
		command = args[1]
	}
	switch command {
	case agent.Command:
		return prefix(command, errors.Join(timelimit.FromArguments(args), serve()))
	case agent.PauseCommand:
		return prefix(command, agent.PauseMain(args[2:]))
	case "version":
		_, err := fmt.Println("tare agent, build " + agentfile.ID())
		return err
	}
	return errors.New("agent: this program has the agent only; start tare instead")
}

func serve() error {
	if runtime.GOOS == "linux" {
		// The kernel has named this process after the file descriptor that was executed. Without
		// /proc it keeps that name.
		_ = os.WriteFile("/proc/self/comm", []byte("tare"), 0)
	}
	return agent.Serve(context.Background(), os.Stdin, os.Stdout, agentfile.ID())
}

func prefix(command string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", command, err)
}
