package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Leftover is an object of a dead run on an engine.
type Leftover struct {
	Run    string
	What   string                      // for people: container NAME, network NAME, image NAME
	Remove func(context.Context) error // one that is gone meanwhile is no error
}

// Leftovers finds what runs of this machine other than those alive have left on the
// engine, in the order in which it can be removed: containers, networks, places in a
// Swarm, then images. It finds only what carries the labels of a run, and of an image
// only the tag by which a dead run held it. What runs of other machines have there is
// theirs to judge.
func (e *Engine) Leftovers(ctx context.Context, alive []string) ([]Leftover, error) {
	marked := client.Filters{}.Add("label", LabelRun)
	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: marked})
	if err != nil {
		return nil, e.fail(err, "list its containers")
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: marked})
	if err != nil {
		return nil, e.fail(err, "list its networks")
	}
	found, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelContent)})
	if err != nil {
		return nil, e.fail(err, "list its images")
	}
	var out, notes []Leftover
	add := func(to *[]Leftover, run, kind, name string, remove func(context.Context) error) {
		if run != "" {
			*to = append(*to, Leftover{run, fmt.Sprintf("%s %s on engine %s", kind, name, e.Name), remove})
		}
	}
	for _, c := range containers.Items {
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		if c.Labels[LabelPart] == partSwarm {
			add(&notes, deadRun(c.Labels, alive), "place in a Swarm, noted by container", name, func(ctx context.Context) error { return e.removeSwarmRecord(ctx, c.ID, name, c.Created) })
			continue
		}
		add(&out, deadRun(c.Labels, alive), "container", name, func(ctx context.Context) error { return e.removeContainer(ctx, c.ID, name) })
	}
	manager, err := e.manager(ctx, networks.Items)
	if err != nil {
		return nil, err
	}
	for _, n := range networks.Items {
		if n.Scope == ScopeSwarm && !manager {
			continue // the Swarm's managers list it, too, and only they can remove it
		}
		add(&out, deadRun(n.Labels, alive), "network", n.Name, func(ctx context.Context) error { return e.RemoveNetwork(ctx, n.ID) })
	}
	out = append(out, notes...) // a Swarm goes when its networks have gone
	for _, i := range found.Items {
		for _, tag := range i.RepoTags {
			if run, ok := imageOwner(tag, i.Labels[labelContent]); ok && !slices.Contains(alive, run) {
				add(&out, run, "image", tag, func(ctx context.Context) error { return e.removeImage(ctx, tag) })
			}
		}
	}
	return out, nil
}

// ScopeSwarm is that of a network which is one on all engines of a Swarm. Any other is its
// engine's alone, as far as that knows.
const ScopeSwarm = "swarm"

// manager reports whether the engine may remove those of the networks that are a
// Swarm's.
func (e *Engine) manager(ctx context.Context, networks []network.Summary) (bool, error) {
	if !slices.ContainsFunc(networks, func(n network.Summary) bool { return n.Scope == ScopeSwarm }) {
		return false, nil
	}
	s, err := e.Swarm(ctx)
	return s.Manager, err
}

func (e *Engine) removeImage(ctx context.Context, tag string) error {
	_, err := e.api.ImageRemove(ctx, tag, client.ImageRemoveOptions{PruneChildren: true})
	if err == nil || isNotFound(err) || e.ended(err) {
		return nil
	}
	return e.fail(err, "remove image %s", tag)
}

// RemoveRun removes everything of one run from the engine, its hold on the image
// included.
func (e *Engine) RemoveRun(ctx context.Context, run string) error {
	all, err := e.Leftovers(ctx, nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range all {
		if l.Run == run {
			errs = append(errs, l.Remove(ctx))
		}
	}
	e.images.forget(run)
	return errors.Join(errs...)
}

// labels mark an object of a run.
func labels(run, part string) map[string]string {
	return map[string]string{LabelRun: run, LabelPart: part, LabelMachine: machineID()}
}

// deadRun is the run of this machine that an object with these labels belongs to,
// "" if there is none or it is alive. A container of the user's that was made from
// this program's image has inherited an image's labels, and is the user's.
func deadRun(labels map[string]string, alive []string) string {
	run := labels[LabelRun]
	if labels[LabelMachine] != machineID() || labels[LabelPart] == partImage || slices.Contains(alive, run) {
		return ""
	}
	return run
}

// machineID tells this machine from others that are guests of the same engine. It
// is a hash, because the machine's own id is nobody else's business.
func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		id = nil // the name alone then, as on other systems
	}
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	sum := sha256.Sum256(append(id, name...))
	return hex.EncodeToString(sum[:4])
}
