package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"tare/internal/calibration"
	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/engine/locate"
	"tare/internal/engine/private"
	"tare/internal/facts"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// diagnosis is the result of doctor, as --json prints it.
type diagnosis struct {
	Verdicts []suitability    `json:"verdicts"` // for which results this machine is fit
	Lab      string           `json:"lab"`      // "ok, as root", "ok, in a user namespace", or the reason why no lab can be created
	Ready    bool             `json:"ready"`
	Rights   []result.Fact    `json:"rights"`
	Machine  []result.Fact    `json:"machine"`
	Engines  engines          `json:"engines"`
	Modes    []probed         `json:"modes"`
	Warnings []result.Warning `json:"warnings"`
	// Existing are warnings for runs on an existing engine, where endpoints use this machine's
	// own network stack.
	Existing []result.Warning `json:"warnings_existing"`

	groups []facts.Group // of Machine, for people
}

// engines is which Docker Engines there are to use: private ones, which tare starts
// for a run, and the one that the docker command would use.
type engines struct {
	Private  string        `json:"private"` // "ok", or what is missing
	Programs []result.Fact `json:"programs"`
	Existing string        `json:"existing"` // its name, or why there is none
	Versions []result.Fact `json:"versions"`
}

// doctorFlags are the choices of tare doctor.
type doctorFlags struct {
	selection.HostFlags
	selection.KubeFlags
	json, machine, roles bool
	modes                []string
}

func (a commands) doctorCommand() *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use: "doctor", Short: "Check that this machine can run benchmarks, and what would bias them", Args: command.Exactly(0),
		Long: "Say for which results this machine is fit, with the facts and the warnings of which that follows, then try to build a lab\n" +
			"and each mode. The verdicts and facts come first, within two seconds. Then each mode is built and removed again, four\n" +
			"at a time; a docker mode takes some seconds, because its engines are started. The exit code\n" +
			"is 3 if no lab can be created.\n" +
			"With --host twice, examine two machines and the path between them: connections, systems, rights,\n" +
			"engines, route, and the modes that can be built there. The exit code is 3 if none can.\n" +
			"With --kube, ask a cluster which nodes would be chosen, which rights the modes need, which of them you\n" +
			"have, and which modes would be left out. Nothing is created there. With --roles, print these rights as\n" +
			"YAML for kubectl apply -f -, whether you have them or not: a ClusterRole or, with --namespace, a Role.",
		Example: "  tare doctor\n  tare doctor --machine\n  tare doctor --modes host,docker/overlay --json\n  tare doctor --host local --host ssh://db1\n  tare doctor --kube\n  tare doctor --kube --namespace bench --roles | kubectl apply -f -",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.machine && len(f.modes) > 0 {
				return command.Usage(errors.New("--machine tries no mode; leave out --modes"))
			}
			if err := f.CheckWith(f.HostFlags); err != nil {
				return command.Usage(err)
			}
			if f.Kube != "" {
				return a.doctorKube(c.Context(), f)
			}
			if f.roles {
				return command.Usage(errors.New("--roles prints the rights that a cluster asks for; name it with --kube"))
			}
			at, elsewhere, err := a.hosts.OnHosts(f.HostFlags, f.modes)
			if err != nil {
				return command.Usage(err)
			}
			a.hosts = at
			if elsewhere {
				return a.doctorHosts(c.Context(), f)
			}
			return a.doctor(c.Context(), f)
		},
	}
	f.HostFlags.Register(c)
	f.KubeFlags.Register(c)
	c.Flags().BoolVar(&f.roles, "roles", false, "with --kube: only print the rights that the modes need, as YAML for kubectl apply -f -")
	c.Flags().BoolVar(&f.json, "json", false, "print as JSON, when all is known")
	c.Flags().BoolVar(&f.machine, "machine", false, "the machine only: build no mode")
	c.Flags().StringSliceVar(&f.modes, "modes", nil, "modes to try, separated by commas (default: all)")
	return c
}

func (a commands) doctor(ctx context.Context, f doctorFlags) error {
	names, err := a.hosts.Chosen(f.modes)
	if err != nil {
		return err
	}
	noLab := a.hosts.Enter(ctx)
	if errors.Is(noLab, command.ErrSilent) {
		return noLab
	}
	ctx, stop := a.Ending(ctx)
	defer stop()
	// Slow parts come last. Each part is printed as soon as it is known.
	show := func(part func(io.Writer) error) error {
		if f.json {
			return nil
		}
		return part(a.Stdout)
	}
	d := examine(noLab)
	d.checkMachine(ctx)
	if err := show(d.printSuitability); err != nil {
		return err
	}
	if err := show(d.printMachine); err != nil {
		return err
	}
	if err := show(d.printBackgroundLoad); err != nil {
		return err
	}
	d.Engines = findEngines(ctx)
	if err := show(d.printEngines); err != nil {
		return err
	}
	if !f.machine && (noLab == nil || errors.Is(noLab, linuxnet.ErrSystem)) { // else each mode would fail for the same reason
		d.Modes = a.probe(ctx, names)
		if err := show(d.printModes); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return command.WithCode(command.ExitInterrupted, errors.New("doctor: interrupted"))
	}
	if f.json {
		return errors.Join(a.PrintJSON(d), noLab)
	}
	return noLab
}

// examine reads what is known of the machine, and calibrates it, without waiting for anything.
func examine(noLab error) diagnosis {
	machine := facts.Collect("/")
	d := diagnosis{
		Verdicts: []suitability{}, Lab: "ok, as root", Ready: noLab == nil, Rights: facts.ReadRights("/").Facts(), Machine: machine.Facts, groups: machine.Groups, Modes: []probed{},
		Engines:  engines{Programs: []result.Fact{}, Versions: []result.Fact{}},
		Warnings: append([]result.Warning{}, machine.Warnings...), Existing: append([]result.Warning{}, machine.Existing...),
	}
	switch {
	case noLab != nil:
		d.Lab = noLab.Error()
	case !linuxnet.RealRoot():
		d.Lab = "ok, in a user namespace"
	}
	found := calibration.Facts()
	d.Machine = append(d.Machine, found...)
	d.groups = append(d.groups, facts.Group{Title: "calibration", Facts: found})
	if cpus, err := facts.CPUs("/"); err == nil {
		f := result.Fact{Name: "cpus_for_trials", Value: fmt.Sprint(cpus)}
		d.Machine = append(d.Machine, f)
		d.groups = append(d.groups, facts.Group{Title: "trials", Facts: []result.Fact{f}})
	}
	return d
}

// checkMachine samples the background load for a second, after which the verdicts are known.
func (d *diagnosis) checkMachine(ctx context.Context) {
	found, warnings := backgroundLoad(ctx, study.InvalidDefaults())
	d.Machine, d.Warnings = append(d.Machine, found...), append(d.Warnings, warnings...)
	d.groups = append(d.groups, facts.Group{Title: backgroundLoadGroup, Facts: found})
	d.Verdicts = suitabilities(d.Warnings, slices.ContainsFunc(found, func(f result.Fact) bool { return f.Name == string(warning.OthersNow) }))
}

// findEngines finds the programs of private engines, and connects to the engine that the
// docker command would use.
func findEngines(ctx context.Context) engines {
	found := engines{Private: probedOK, Programs: append([]result.Fact{}, private.Programs(ctx)...), Versions: []result.Fact{}}
	if err := private.MissingRequirements(ctx); err != nil {
		found.Private = command.OneLine(err.Error())
	}
	e, err := locate.Connect(ctx, "")
	if err != nil {
		found.Existing = command.OneLine(err.Error())
		return found
	}
	found.Existing, found.Versions = e.Name, e.Versions.Facts()
	if err := e.Disconnect(); err != nil {
		found.Existing += ": " + command.OneLine(err.Error())
	}
	return found
}

// facts are the engines for people.
func (e engines) facts() []result.Fact {
	out := append([]result.Fact{{Name: "private", Value: e.Private}}, e.Programs...)
	return append(append(out, result.Fact{Name: "existing", Value: e.Existing}), e.Versions...)
}
