package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/moby/client"

	"tare/internal/runid"
)

// Leftover is an object of a dead run on an engine.
type Leftover struct {
	Run    string
	What   string                      // for people: service NAME, container NAME, network NAME, image NAME
	Owner  int                         // the user whose run made it, or runid.UnknownUser
	Remove func(context.Context) error // not an error if the object is already gone
	// Unmarked means that only its name is that of a run: it may be anybody's, and Remove leaves it.
	Unmarked bool
}

// Leftovers returns what dead runs of this machine have left on the engine, in an order in which it
// can be removed: services, containers, networks, Swarm memberships, then images. It finds only
// objects with the labels of a run, and of an image only the tag of the dead run. Objects of other
// machines are ignored. What it finds is valid also on error, which is the first of a list that the
// engine did not give, such as that of the services of a Swarm without a leader.
func (e *Engine) Leftovers(ctx context.Context, alive runid.Claims) ([]Leftover, error) {
	marked := client.Filters{}.Add("label", LabelRun)
	containers, first := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: marked})
	if first != nil {
		first = e.fail(first, "list its containers")
	}
	if errors.Is(first, ErrGone) {
		return nil, first // each further request could wait for its whole time limit
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: marked})
	if err != nil {
		first = cmp.Or(first, e.fail(err, "list its networks"))
	}
	found, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelContent)})
	if err != nil {
		first = cmp.Or(first, e.fail(err, "list its images"))
	}
	swarm, err := e.Swarm(ctx)
	first = cmp.Or(first, err)
	services, err := e.services(ctx, swarm)
	first = cmp.Or(first, err)
	var out, notes []Leftover
	add := func(to *[]Leftover, run string, owner int, kind, name string, remove func(context.Context) error) {
		if run != "" {
			*to = append(*to, Leftover{Run: run, What: fmt.Sprintf("%s %s on engine %s", kind, name, e.Name), Owner: owner, Remove: remove})
		}
	}
	for _, s := range services { // first, so that no Swarm is busy with the containers of its tasks
		add(&out, deadRun(s.Spec.Labels, alive), ownerOf(s.Spec.Labels), "service", s.Spec.Name, func(ctx context.Context) error { return e.removeService(ctx, s.ID, s.Spec.Name) })
	}
	for _, c := range containers.Items {
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		if c.Labels[LabelPart] == partSwarm {
			add(&notes, deadRun(c.Labels, alive), ownerOf(c.Labels), "Swarm membership recorded by container", name, func(ctx context.Context) error { return e.removeSwarmRecord(ctx, c.ID, name, c.Created) })
			continue
		}
		add(&out, deadRun(c.Labels, alive), ownerOf(c.Labels), "container", name, func(ctx context.Context) error { return e.removeContainer(ctx, c.ID, name) })
	}
	for _, n := range networks.Items {
		if n.Scope == ScopeSwarm && !swarm.Manager {
			continue // the Swarm's managers list it as well, and only they can remove it
		}
		add(&out, deadRun(n.Labels, alive), ownerOf(n.Labels), "network", n.Name, func(ctx context.Context) error { return e.RemoveNetwork(ctx, n.ID) })
	}
	out = append(out, notes...) // leave a Swarm only after its networks are removed
	for _, i := range found.Items {
		for _, tag := range i.RepoTags {
			if run, ok := imageOwner(tag, i.Labels[labelContent]); ok && !alive.Hold(run, runid.UnknownUser) {
				add(&out, run, runid.UnknownUser, "image", tag, func(ctx context.Context) error { return e.removeImage(ctx, tag) })
			}
		}
	}
	return out, first
}

// ScopeSwarm is the scope of a network that all engines of a Swarm share.
const ScopeSwarm = "swarm"

func (e *Engine) removeImage(ctx context.Context, tag string) error {
	_, err := e.api.ImageRemove(ctx, tag, client.ImageRemoveOptions{PruneChildren: true})
	if err == nil || isNotFound(err) || e.ended(err) {
		return nil
	}
	return e.fail(err, "remove image %s", tag)
}

// RemoveRun removes all objects of one run from the engine, including its tag of the image. An error of
// one does not keep the others.
func (e *Engine) RemoveRun(ctx context.Context, run string) error {
	all, err := e.Leftovers(ctx, nil)
	errs := []error{err}
	for _, l := range all {
		if l.Run == run {
			errs = append(errs, l.Remove(ctx))
		}
	}
	e.images.forget(run)
	return errors.Join(errs...)
}

// labels returns the labels of an object of a run.
func labels(run, part string) map[string]string {
	return map[string]string{LabelRun: run, LabelPart: part, LabelMachine: runid.MachineID(), LabelUser: strconv.Itoa(os.Getuid())}
}

// deadRun returns the run of this machine that an object with these labels belongs to, "" if there
// is none or it is alive. A user's container that was created from this program's image inherits
// the labels of an image, and is not removed.
func deadRun(labels map[string]string, alive runid.Claims) string {
	run := labels[LabelRun]
	if !runid.IsID(run) || labels[LabelMachine] != runid.MachineID() || labels[LabelPart] == partImage || alive.Hold(run, ownerOf(labels)) {
		return ""
	}
	return run
}

// ownerOf returns the user whose run made an object with these labels.
func ownerOf(labels map[string]string) int {
	if user, err := strconv.ParseUint(labels[LabelUser], 10, 32); err == nil {
		return int(user)
	}
	return runid.UnknownUser
}
