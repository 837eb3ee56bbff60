package private

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/engine"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// killedStatus is the exit status of runc for a process that was killed.
const killedStatus = 128 + 9

// runtimeRoot is where runc has the state of the containers of an engine.
const runtimeRoot = execRoot + "/runtime-runc/moby"

// directKillTimeout bounds how long runc may take to kill an agent, and causeTimeout how long an engine may take to tell how a process ended.
func directKillTimeout() time.Duration { return timelimit.Scaled(4 * time.Second) }
func causeTimeout() time.Duration      { return timelimit.Scaled(2 * time.Second) }

// causePoll is the time between two questions to an engine that does not know yet that a container has ended.
const causePoll = 20 * time.Millisecond

// Direct starts agents in a container of an engine with Config.LiveRestore by runc alone, which also starts the processes of docker exec: in the same
// namespaces and control groups, with the same capabilities and filters of system calls. Their stdio does not pass through dockerd, with which that of
// docker exec ends.
type Direct struct {
	Engine    *Engine
	Container *engine.Container
}

// Launch starts this program with args as another process of the container. It runs until Close, or until the container ends.
func (d Direct) Launch(_ context.Context, args ...string) (transport.Conn, error) {
	a := &directAgent{in: d, token: rand.Text(), at: time.Now(), ended: make(chan struct{})}
	a.Process = d.command("agent", []string{transport.Environment, agent.TokenVariable + "=" + a.token}, args...)
	a.Stdin, a.Stdout = true, true
	a.kills, _ = d.Engine.memoryKills(d.Container)
	if err := a.Start(d.start); err != nil {
		return nil, err
	}
	go a.waitForReason()
	return a, nil
}

// start starts runc where it finds the container and sees its process ids.
func (d Direct) start(cmd *exec.Cmd) error { return linuxnet.StartInside(d.Engine.init.PID(), cmd) }

// command returns the command of runc that runs this program with args in the container.
func (d Direct) command(name string, environment []string, args ...string) *process.Process {
	flags := []string{"--root", runtimeRoot, "exec"}
	for _, variable := range environment {
		flags = append(flags, "--env", variable)
	}
	p := process.New(name, d.Engine.runc, slices.Concat(flags, []string{d.Container.ID, engine.Program}, args)...)
	p.Cmd.Env, p.Cmd.WaitDelay = engineEnvironment(filepath.Dir(d.Engine.runc)), directKillTimeout()
	return p
}

// directAgent is an agent in a container, and the runc that passes its stdio on.
type directAgent struct {
	*process.Process
	in     Direct
	token  string
	at     time.Time
	kills  uint64        // of processes of the container that ran out of memory, before this one started
	ended  chan struct{} // closed when reason is set
	reason string
}

// waitForReason finds out how the agent has ended.
func (a *directAgent) waitForReason() {
	<-a.Done()
	defer close(a.ended)
	killed := a.Cmd.ProcessState.ExitCode() == killedStatus
	kills, there := a.in.Engine.memoryKills(a.in.Container)
	if killed && kills > a.kills {
		a.reason = a.in.Container.OutOfMemory() // the kernel has counted it, and the engine may not have heard of it
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), causeTimeout())
	defer cancel()
	for {
		a.reason = a.in.Container.Cause(ctx, time.Since(a.at))
		if a.reason != "" || !killed || there || ctx.Err() != nil {
			break
		}
		time.Sleep(causePoll) // without its control group the container has ended, which the engine is about to know
	}
	switch {
	case a.reason != "":
	case killed:
		a.reason = "killed by a signal"
	default:
		a.reason = a.Process.ExitReason()
	}
}

// ExitReason returns how the agent has ended, "" while it runs.
func (a *directAgent) ExitReason() string {
	select {
	case <-a.ended:
		return a.reason
	default:
		return ""
	}
}

// Close closes the agent's stdin, and kills the agent if it still runs when ctx ends.
func (a *directAgent) Close(ctx context.Context) error {
	a.CloseStdin()
	var err error
	if a.Wait(ctx) != nil {
		err = a.end(context.WithoutCancel(ctx))
	}
	if err = errors.Join(err, a.Kill()); err == nil {
		<-a.ended
	}
	return err
}

// end kills the agent from within its container, as nothing passes on a signal that kills runc, and waits for runc, which ends when it has
// reaped the agent.
func (a *directAgent) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, directKillTimeout(), fmt.Errorf("it still runs after %s", directKillTimeout()))
	defer cancel()
	p := a.in.command("runc", nil, agent.KillAgentArguments(a.token)...)
	err := p.Start(a.in.start)
	if err == nil {
		err = p.Wait(ctx)
		if err == nil {
			err = p.Err()
		}
		err = errors.Join(err, p.Kill())
	}
	if late := a.Wait(ctx); late != nil {
		return fmt.Errorf("kill the agent in container %s: %w", a.in.Container.Name, errors.Join(late, err))
	}
	return nil
}
