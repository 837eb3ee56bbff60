package agent

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"tare/internal/agent/transport"
)

// PauseCommand is the hidden command that a container's first process runs: Pause, or KillAgent if
// a token follows.
const PauseCommand = transport.PauseCommand

// TokenVariable is the environment variable of an agent in a container by which KillAgent
// identifies it. An agent in a pod has it, with the token, as its last argument.
const TokenVariable = "TARE_AGENT"

// PauseArguments returns the command line of the first process of a run's container. The id and the
// place serve to recognise the process in a process list.
func PauseArguments(run, place string) []string {
	return []string{PauseCommand, "--run", run, "--at", place}
}

// KillAgentArguments returns the command line that kills, within a container, the agent that was
// started with the token.
func KillAgentArguments(token string) []string { return []string{PauseCommand, "end", token} }

// answerFlag is the flag of the first process of a container that answers one request of Seek; its values are the address to listen on
// and the token.
const answerFlag = "--answer"

// AnsweringArguments returns PauseArguments of a process that also answers one request of Seek with the token, at an address of the
// container.
func AnsweringArguments(run, place, address, token string) []string {
	return append(PauseArguments(run, place), answerFlag, address, token)
}

// standbyFlag is the flag of the first process of a container that starts an agent as soon as it runs if one has been ordered; its value is
// the directory of Standby, as the container sees it.
const standbyFlag = "--standby"

// StandbyArguments returns PauseArguments of a process that also starts the agent that was ordered in a directory.
func StandbyArguments(run, place, dir string) []string {
	return append(PauseArguments(run, place), standbyFlag, dir)
}

// PauseMain runs the hidden command with these arguments.
func PauseMain(args []string) error {
	if len(args) == 2 && args[0] == "end" {
		return KillAgent(args[1])
	}
	if i := slices.Index(args, answerFlag); i >= 0 && len(args) == i+3 {
		go func() {
			if err := answerOne(args[i+1], args[i+2]); err != nil {
				fmt.Fprintln(os.Stderr, "tare hold:", err) // the search says what it missed
			}
		}()
	}
	if i := slices.Index(args, standbyFlag); i >= 0 && len(args) == i+2 {
		if err := startOrdered(args[i+1]); err != nil {
			return fmt.Errorf("start the agent that was ordered: %w", err)
		}
	}
	Pause()
	return nil
}

// Pause waits for a signal to end, and meanwhile reaps orphaned processes. It is for the first
// process of a container: the kernel makes it the parent of orphans, and delivers no signal to it
// for which it has no handler.
func Pause() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	stop := reapOrphans()
	<-end
	stop()
}
