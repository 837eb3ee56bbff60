package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/engine/private"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/machine"
	"tare/internal/runid"
	"tare/internal/wording"
)

func (a commands) gcCommand() *cobra.Command {
	var dry bool
	var engines, hosts []string
	var cluster, namespace string
	c := &cobra.Command{
		Use: "gc", Short: "Remove what dead runs left behind",
		Example: "  tare gc\n  tare gc --host ssh://db1\n  tare gc --kube\n  tare gc --kube --namespace bench",
		Args:    command.Exactly(0),
		Long: "Remove the processes, namespaces, files and Docker Engines of runs that are no longer alive, such as after kill -9.\n" +
			"Active runs are not touched. What a run left can be removed by its user and by root.\n" +
			"Containers, networks and images on existing engines are found by their label: on the engines\n" +
			"named with --engine, else on the one that the docker command uses, if any.\n" +
			"With --kube, look on that cluster instead, for namespaces of runs that this machine controlled, and\n" +
			"with --namespace for pods, services and network policies of such runs in that namespace, which stays.\n" +
			"With --host, look on that machine instead, as the user there and as root if that is possible.",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(hosts) > 0 {
				if len(engines) > 0 || cluster != "" {
					return command.Usage(errors.New("--host looks on machines, --engine on engines and --kube on a cluster; leave out the others"))
				}
				return a.collectOnHosts(c.Context(), hosts, dry)
			}
			if namespace != "" && cluster == "" {
				return command.Usage(errors.New("--namespace is of a cluster; name that with --kube"))
			}
			if err := selection.CheckNamespace(namespace); err != nil {
				return command.Usage(err)
			}
			found, err := a.find(c.Context(), engines, cluster, namespace)
			errs := []error{err}
			verb := "removed"
			if dry {
				verb = "would remove"
			}
			own := slices.DeleteFunc(slices.Clone(found), func(l leftover) bool { return l.unmarked || lab.Foreign(l.owner) })
			if cluster != "" {
				own = together(own)
			}
			for _, l := range own {
				if !dry {
					if err := l.remove(c.Context()); err != nil {
						errs = append(errs, err)
						continue
					}
				}
				fmt.Fprintf(a.Stdout, "%s %s of run %s\n", verb, wording.Clean(l.what), l.run)
			}
			if len(own) == 0 && err == nil {
				fmt.Fprintln(a.Stdout, "nothing to remove")
			}
			for _, l := range found {
				switch {
				case l.unmarked:
					fmt.Fprintf(a.Stderr, "tare: left alone: %s has only the name of a run, and no mark of one; remove it yourself if it is of no use\n", wording.Clean(l.what))
				case lab.Foreign(l.owner):
					fmt.Fprintf(a.Stderr, "tare: left alone: %s of run %s, of another user; that user and root can remove it (sudo tare gc)\n", wording.Clean(l.what), l.run)
				}
			}
			return errors.Join(errs...)
		},
	}
	c.Flags().StringArrayVar(&engines, "engine", nil, "look on this engine: docker, docker:CONTEXT, unix://PATH, tcp://HOST:PORT or ssh://USER@HOST (may be repeated)")
	c.Flags().StringArrayVar(&hosts, "host", nil, "look on this machine instead: local, or ssh://[user@]name[:port] (may be repeated)")
	selection.AddKube(c, &cluster, "look on this cluster instead: --kube for the current context of your kubeconfig, --kube=CONTEXT for another")
	selection.AddNamespace(c, &namespace, "with --kube: look in this existing namespace, for what runs with --namespace left there")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print what would be removed")
	return c
}

// find finds what dead runs have left here and on engines, or on a cluster if one is named. What it finds is valid also on error.
func (a commands) find(ctx context.Context, engines []string, cluster, namespace string) ([]leftover, error) {
	if cluster != "" {
		if len(engines) > 0 {
			return nil, command.Usage(errors.New("--kube looks on a cluster, --engine on engines; leave out one of them"))
		}
		return clusterLeftovers(ctx, cluster, namespace)
	}
	open, err := a.existing(ctx, engines)
	defer func() {
		for _, e := range open {
			_ = e.Disconnect() // it holds no more than idle connections
		}
	}()
	if err != nil && command.ExitCode(err) == command.ExitUsage {
		return nil, err
	}
	found, failed := leftovers(ctx, open)
	return found, errors.Join(err, failed)
}

// existing speaks to the engines that are named, else to the default one. That
// there is none is then nothing to tell. The engines are to be disconnected also on error.
func (a commands) existing(ctx context.Context, targets []string) ([]*engine.Engine, error) {
	if len(targets) == 0 {
		e, err := locate.Connect(ctx, "")
		if u, ok := engine.AsUnavailable(err); ok {
			if !u.NotFound {
				fmt.Fprintf(a.Stderr, "tare: not looked at: %v\n", u)
			}
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []*engine.Engine{e}, nil
	}
	var open []*engine.Engine
	var errs []error
	for _, t := range targets {
		e, err := locate.Connect(ctx, t)
		if _, ok := engine.AsUnavailable(err); ok {
			errs = append(errs, command.Environment(err))
			continue
		}
		if err != nil {
			return open, command.Usage(err)
		}
		open = append(open, e)
	}
	return open, errors.Join(errs...)
}

// leftover is something of a run that is no longer alive, whoever found it.
type leftover struct {
	run, what string
	owner     int
	remove    func(context.Context) error
	unmarked  bool // only its name is that of a run
}

// leftovers finds what dead runs have left, in the order in which it can be
// removed. What it finds is valid also on error: one place that cannot be read keeps no other.
func leftovers(ctx context.Context, engines []*engine.Engine) ([]leftover, error) {
	var found []leftover
	ofLab, err := lab.Leftovers()
	errs := []error{err}
	for _, l := range ofLab {
		found = append(found, leftover{l.Run, l.What, l.Owner, func(context.Context) error { return l.Remove() }, l.Unmarked})
	}
	alive, err := lab.Alive()
	if err != nil {
		return nil, err
	}
	ofEngines, err := private.Leftovers(alive)
	errs = append(errs, err)
	for _, l := range ofEngines {
		found = append(found, leftover{l.Run, l.What, l.Owner, l.Remove, l.Unmarked})
	}
	for _, e := range engines {
		on, err := e.Leftovers(ctx, alive)
		if err != nil {
			errs = append(errs, command.Environment(err))
		}
		for _, l := range on {
			found = append(found, leftover{l.Run, l.What, l.Owner, l.Remove, false})
		}
	}
	// Who is alive is asked once more, after all was found: what a run made that
	// began meanwhile is no leftover.
	if alive, err = lab.Alive(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(l leftover) bool { return alive.Hold(l.run, l.owner) }), errors.Join(errs...)
}

// collectOnHosts removes what dead runs left on machines, or lists it.
func (a commands) collectOnHosts(ctx context.Context, hosts []string, dry bool) error {
	var at []machine.Address
	for _, given := range hosts {
		one, err := machine.Parse(given)
		if err != nil {
			return command.Usage(fmt.Errorf("--%w", err))
		}
		at = append(at, one)
	}
	ctx, stop := a.Ending(ctx)
	defer stop()
	var errs []error
	for _, one := range at {
		lines, noRoot, err := machine.CollectDead(ctx, one.String(), one, machine.Options{}, dry)
		for _, line := range lines {
			fmt.Fprintf(a.Stdout, "%s: %s\n", one, line)
		}
		switch {
		case err != nil:
			errs = append(errs, command.Environment(err))
			continue
		case len(lines) == 0:
			fmt.Fprintf(a.Stdout, "%s: nothing to remove\n", one)
		}
		if noRoot != "" {
			fmt.Fprintf(a.Stderr, "tare: %s: what belongs to root was not looked at: %s\n", one, noRoot)
		}
	}
	return errors.Join(errs...)
}

// clusterLeftovers finds what dead runs of this machine have left on the cluster of a context: their
// namespaces or, if one that is not theirs is given, what they have left in that one.
func clusterLeftovers(ctx context.Context, at, namespace string) ([]leftover, error) {
	if at == command.CurrentContext {
		at = ""
	}
	c, err := kube.Connect(ctx, kube.Options{Context: at})
	if err != nil {
		return nil, command.Environment(err)
	}
	alive, err := lab.Alive()
	if err != nil {
		return nil, err
	}
	find := c.Leftovers
	if namespace != "" {
		find = func(ctx context.Context, alive runid.Claims) ([]kube.Leftover, error) {
			return c.LeftoversIn(ctx, namespace, alive)
		}
	}
	found, err := find(ctx, alive)
	if err != nil {
		return nil, command.Environment(err)
	}
	var out []leftover
	for _, l := range found {
		out = append(out, leftover{l.Run, l.What, l.Owner, l.Remove, false})
	}
	return out, nil
}

// together returns the same leftovers, of which removing one removes all: a cluster takes seconds
// for each.
func together(all []leftover) []leftover {
	out, errs := slices.Clone(all), make([]error, len(all))
	var once sync.Once
	for i := range out {
		out[i].remove = func(ctx context.Context) error {
			once.Do(func() {
				var wg sync.WaitGroup
				for j, l := range all {
					wg.Go(func() { errs[j] = l.remove(ctx) })
				}
				wg.Wait()
			})
			return errs[i]
		}
	}
	return out
}
