package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// Leftover is an object of a dead run on an engine.
type Leftover struct {
	Run    string
	What   string // for people: container NAME, network NAME, image NAME
	remove func(context.Context) error
}

// Remove removes it. One that is gone meanwhile is no error.
func (l Leftover) Remove(ctx context.Context) error { return l.remove(ctx) }

// Leftovers finds what runs other than those alive have left on the engine, in the
// order in which it can be removed: containers, networks, then images. It finds
// only what carries the label of a run, and of an image only the tag of a dead run.
// What runs of other machines have there is theirs to judge.
func (e *Engine) Leftovers(ctx context.Context, alive []string) ([]Leftover, error) {
	own := machineID()
	dead := func(labels map[string]string) bool {
		run := labels[LabelRun]
		return run != "" && labels[LabelMachine] == own && !slices.Contains(alive, run)
	}
	var out []Leftover
	marked := client.Filters{}.Add("label", LabelRun)
	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: marked})
	if err != nil {
		return nil, e.fail(err, "list its containers")
	}
	for _, c := range containers.Items {
		// A container of the user's from this program's image has inherited its labels.
		if !dead(c.Labels) || c.Labels[LabelPart] == partImage {
			continue
		}
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		l := Leftover{c.Labels[LabelRun], e.what("container", name), func(ctx context.Context) error { return e.removeContainer(ctx, c.ID, name) }}
		if c.Labels[LabelPart] == partSwarm {
			l = Leftover{c.Labels[LabelRun], e.what("place in a Swarm, noted by container", name), func(ctx context.Context) error { return e.unjoin(ctx, c.ID, name, c.Created) }}
		}
		out = append(out, l)
	}
	networks, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: marked})
	if err != nil {
		return nil, e.fail(err, "list its networks")
	}
	for _, n := range networks.Items {
		if dead(n.Labels) {
			out = append(out, Leftover{n.Labels[LabelRun], e.what("network", n.Name), func(ctx context.Context) error { return e.RemoveNetwork(ctx, n.ID) }})
		}
	}
	found, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelContent)})
	if err != nil {
		return nil, e.fail(err, "list its images")
	}
	for _, i := range found.Items {
		for _, tag := range i.RepoTags {
			if run, ok := holder(tag, i.Labels[labelContent]); ok && !slices.Contains(alive, run) {
				out = append(out, Leftover{run, e.what("image", tag), func(ctx context.Context) error { return e.removeImage(ctx, tag) }})
			}
		}
	}
	return out, nil
}

func (e *Engine) what(kind, name string) string {
	return fmt.Sprintf("%s %s on engine %s", kind, name, e.Name)
}

func (e *Engine) removeImage(ctx context.Context, tag string) error {
	_, err := e.api.ImageRemove(ctx, tag, client.ImageRemoveOptions{PruneChildren: true})
	if err == nil || isNotFound(err) || e.ended(err) {
		return nil
	}
	return e.fail(err, "remove image %s", tag)
}

// Forget removes everything of one run from the engine, its hold on the image
// included.
func (e *Engine) Forget(ctx context.Context, run string) error {
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
