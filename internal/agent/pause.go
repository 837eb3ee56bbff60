package agent

import (
	"os"
	"os/signal"
	"syscall"
)

// PauseCommand is the hidden command that a container's first process runs: Hold,
// or KillAgent where a token follows.
const PauseCommand = "hold"

// TokenVariable holds, in the environment of an agent in a container, what KillAgent
// knows it by.
const TokenVariable = "TARE_AGENT"

// PauseArguments are the command line of the first process of a run's container.
// The id and the place are there only for people, who read them in a process list,
// and to know the process again.
func PauseArguments(run, place string) []string {
	return []string{PauseCommand, "--run", run, "--at", place}
}

// KillAgentArguments are the command line that ends by force, within a container, the
// agent that was started with the token.
func KillAgentArguments(token string) []string { return []string{PauseCommand, "end", token} }

// PauseMain does what the hidden command's arguments ask for.
func PauseMain(args []string) error {
	if len(args) == 2 && args[0] == "end" {
		return KillAgent(args[1])
	}
	Pause()
	return nil
}

// Pause waits until it is told to end, and meanwhile takes leave of the processes
// that others in its sandbox have left behind. It is for the first process of a
// container, to which the kernel hands orphans, and which no signal ends unless it
// listens.
func Pause() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	stop := reapOrphans()
	<-end
	stop()
}
