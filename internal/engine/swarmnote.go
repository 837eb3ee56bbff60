package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A Swarm has no label of a run on those of its engines that are no managers. So a
// run that makes one of existing engines first leaves a note on each: a container
// that never starts. Its name holds the engine's id in the Swarm as soon as it has
// one, so that gc does not take the engine out of a Swarm that its user made since.

// partSwarm marks the note.
const partSwarm = "swarm"

// NoteSwarm notes on an engine, which is in no Swarm, that a run is about to put it
// into one.
func (e *Engine) NoteSwarm(ctx context.Context, run string) error {
	image, err := e.Image(ctx, run)
	if err != nil {
		return err
	}
	_, err = e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: Name(run, partSwarm),
		Config: &container.Config{
			Image: image, Entrypoint: []string{program}, Cmd: []string{"version"},
			Labels: labels(run, partSwarm),
		},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		return e.fail(err, "note that run %s makes a Swarm", run)
	}
	return nil
}

// SettleSwarm completes the note once the engine is in the Swarm.
func (e *Engine) SettleSwarm(ctx context.Context, run string) error {
	s, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	if _, err := e.api.ContainerRename(ctx, Name(run, partSwarm), client.ContainerRenameOptions{NewName: Name(run, partSwarm, s.Node)}); err != nil {
		return e.fail(err, "note that run %s made a Swarm", run)
	}
	return nil
}

// moment is how long after a note without an id a Swarm may have been begun to be
// that of the note.
const moment = time.Minute

// unjoin takes the engine out of the Swarm that a note is about, and removes the
// note.
func (e *Engine) unjoin(ctx context.Context, id, name string, noted int64) error {
	s, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	switch _, node, settled := strings.Cut(name, "-"+partSwarm+"-"); {
	case s.Node == "" || settled && node != s.Node:
	case settled:
		err = e.LeaveSwarm(ctx)
	case s.Manager:
		got, inspect := e.api.SwarmInspect(ctx, client.SwarmInspectOptions{})
		if begun := got.Swarm.CreatedAt; inspect == nil && begun.Sub(time.Unix(noted, 0)).Abs() < moment {
			err = e.LeaveSwarm(ctx)
		}
	default:
		err = fmt.Errorf("engine %s may still be in a Swarm that a dead run made: if it is not yours, docker swarm leave on that machine takes it out", e.Name)
	}
	return errors.Join(err, e.removeContainer(ctx, id, name))
}
