package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/driver"
	"tare/internal/hosts"
	"tare/internal/study"
	"tare/internal/timelimit"
)

// engineFlags choose the engines that build the docker modes, or the machines of a run.
type engineFlags struct {
	hostFlags
	kubeFlags
	engines []string
	yes     bool
}

func (f *engineFlags) register(c *cobra.Command) {
	f.hostFlags.register(c)
	f.kubeFlags.register(c)
	c.Flags().StringArrayVar(&f.engines, "engine", nil, "Docker Engine of the docker modes: lab (private ones), docker, docker:CONTEXT, unix://, tcp:// or ssh://;\n"+
		"given twice as ENGINE=ADDRESS: two existing engines, the client's first, with the address each is reached at")
	c.Flags().BoolVar(&f.yes, "yes", false, "allow creating a Swarm on existing engines for the run, and leaving it again")
}

// choice returns the target by the flags; empty without any.
func (f *engineFlags) choice(cat study.Catalog) (study.Target, error) {
	flag := "--engine"
	parse := f.parse
	if len(f.hosts) > 0 {
		flag, parse = "--host", f.hostFlags.parse
	}
	if len(f.hosts) > 0 && len(f.engines) > 0 {
		return study.Target{}, errors.New("--host and --engine both name the hosts of the run; leave out one of them")
	}
	if f.kube != "" {
		if len(f.hosts)+len(f.engines) > 0 {
			return study.Target{}, errors.New("--kube names the hosts of the run, as --host and --engine do; leave out the others")
		}
		flag, parse = "--kube", f.kubeFlags.parse
	}
	e, err := parse()
	e.Cluster = f.cluster()
	if err == nil && e.Given() {
		if err = e.Check(cat); err != nil {
			err = fmt.Errorf("%s: %w", flag, err)
		}
	}
	return e, err
}

func (f *engineFlags) parse() (study.Target, error) {
	var none study.Target
	switch len(f.engines) {
	case 0:
		return none, nil
	case 1:
		return study.Target{Name: f.engines[0]}, nil
	case 2:
		var e study.Target
		for _, given := range f.engines {
			at := strings.LastIndex(given, "=")
			if at <= 0 || at == len(given)-1 {
				return none, fmt.Errorf("--engine %s: of two engines each needs the address at which the other host reaches it: --engine %s=ADDRESS", given, strings.TrimSuffix(given, "="))
			}
			e.Hosts = append(e.Hosts, study.Host{Engine: given[:at], Address: given[at+1:]})
		}
		return e, nil
	}
	return none, fmt.Errorf("--engine was given %d times; give it once, or twice for two hosts", len(f.engines))
}

// isTarget reports whether a name is well-formed as one of a kind that checks its names
// itself.
func (a App) isTarget(name string) bool {
	return slices.ContainsFunc(a.Targets, func(k hosts.Kind) bool { return k.WellFormed != nil && k.WellFormed(name) })
}

// on returns the program for a target. The study reports an unknown kind, with its line.
func (a App) on(t study.Target, o hosts.Options) App {
	if k, err := hosts.FindKind(a.Targets, t); err == nil {
		a.target = k.New(t, o)
	}
	return a
}

// lacks reports what modes of a study require and the hosts lack, as far as that can be known before anything is made.
// The hosts must have been reached.
func (a App) lacks(ctx context.Context, s study.Study) error {
	if a.target.Check == nil {
		return nil
	}
	err := a.target.Check(ctx, s)
	var asked *driver.AskedError
	switch {
	case errors.As(err, &asked):
		return usage(err)
	case err != nil:
		return environment(err)
	}
	return nil
}

// foreseeTimeout bounds what a plan waits for the hosts.
func foreseeTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// foresee is lacks for a plan. It opens the hosts for it; one that cannot be reached is said, and no error of a plan.
func (a App) foresee(ctx context.Context, s study.Study) (failed error) {
	if a.target.Check == nil {
		return nil
	}
	defer func() { failed = errors.Join(failed, a.target.Close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, foreseeTimeout(), fmt.Errorf("no answer within %s", foreseeTimeout()))
	defer cancel()
	if err := a.target.Open(ctx); err != nil {
		fmt.Fprintf(a.Stderr, "tare: not checked whether the hosts have what the modes require: %v\n", err)
		return nil
	}
	return a.lacks(ctx, s)
}

// reach prepares to build modes: it enters a user namespace where required, and connects to
// the hosts. done means that another process did the work, with exit code code.
func (a App) reach(ctx context.Context) (done bool, code int, err error) {
	if a.target.Namespaces {
		if done, code, err = a.enter(ctx); done || err != nil {
			return done, code, err
		}
	}
	if a.target.Open == nil {
		return false, 0, nil
	}
	if err := a.target.Open(ctx); err != nil {
		return false, 0, environment(err)
	}
	return false, 0, nil
}
