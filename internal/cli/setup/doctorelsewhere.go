package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"tare/internal/cli/command"
	"tare/internal/facts"
	"tare/internal/hosts"
	"tare/internal/result"
)

// hostsDiagnosis is the result of doctor about two machines, as --json prints it.
type hostsDiagnosis struct {
	Ready    bool             `json:"ready"`
	Reason   string           `json:"reason,omitempty"` // why no mode can be built
	Groups   []facts.Group    `json:"groups"`
	Modes    []probed         `json:"modes"`
	Warnings []result.Warning `json:"warnings"`
}

// doctorHosts examines two machines and what is between them, and tries modes there.
func (a commands) doctorHosts(ctx context.Context, f doctorFlags) (failed error) {
	names, err := a.hosts.Chosen(f.modes)
	if err != nil {
		return err
	}
	ctx, stop := a.Ending(ctx)
	defer stop()
	defer func() { failed = errors.Join(failed, a.hosts.Target.Close()) }()
	d := hostsDiagnosis{Groups: []facts.Group{}, Modes: []probed{}, Warnings: []result.Warning{}}
	var broken error
	warnings, err := a.hosts.Target.Diagnose(ctx, func(g facts.Group) {
		d.Groups = append(d.Groups, g)
		if !f.json && broken == nil {
			broken = printGroups(a.Stdout, []facts.Group{g})
		}
	})
	d.Warnings = append(d.Warnings, warnings...)
	if err != nil {
		err = command.Environment(err)
		d.Reason = command.OneLine(err.Error())
	}
	d.Ready = err == nil
	shown := diagnosis{Warnings: d.Warnings}
	if !f.json && broken == nil && (err == nil || len(d.Warnings) > 0) { // nothing was looked for where no machine was reached
		broken = shown.printBackgroundLoad(a.Stdout)
	}
	if err == nil && !f.machine && broken == nil {
		d.Modes = a.probe(ctx, names)
		if shown.Modes = d.Modes; !f.json {
			broken = shown.printModes(a.Stdout)
		}
	}
	switch {
	case ctx.Err() != nil:
		return command.WithCode(command.ExitInterrupted, errors.New("doctor: interrupted"))
	case f.json:
		broken = a.PrintJSON(d)
	}
	return errors.Join(err, broken)
}

// kubeDiagnosis is the result of doctor about a cluster, as --json prints it.
type kubeDiagnosis struct {
	Ready  bool              `json:"ready"`
	Reason string            `json:"reason,omitempty"` // why no mode can be measured
	Groups []facts.Group     `json:"groups"`
	Rights []hosts.KubeRight `json:"rights"`
	Modes  []probed          `json:"modes"`
}

// doctorKube asks a cluster what a run there would be allowed to do.
func (a commands) doctorKube(ctx context.Context, f doctorFlags) error {
	switch {
	case len(f.Hosts) > 0:
		return command.Usage(errors.New("--host examines machines, --kube a cluster; leave out one of them"))
	case f.machine:
		return command.Usage(errors.New("--machine examines this machine, --kube a cluster; leave out one of them"))
	case f.json && f.roles:
		return command.Usage(errors.New("--roles prints YAML; leave out --json"))
	}
	on, at, err := a.hosts.OnCluster(f.KubeFlags)
	if err != nil {
		return command.Usage(err)
	}
	a.hosts = on
	names, err := a.hosts.Chosen(f.modes)
	if err != nil {
		return err
	}
	ctx, stop := a.Ending(ctx)
	defer stop()
	found, err := hosts.CheckKube(ctx, at, names)
	switch {
	case ctx.Err() != nil:
		return command.WithCode(command.ExitInterrupted, errors.New("doctor: interrupted"))
	case err != nil:
		return command.Environment(err)
	case f.roles:
		_, err := a.Stdout.Write(found.Roles)
		return err
	}
	d := kubeDiagnosis{Groups: found.Groups, Rights: found.Rights, Modes: []probed{}}
	for _, m := range found.Modes {
		p := probed{m.Mode, probedOK, ""}
		if m.Absent != nil {
			p.Status, p.Reason = probedAbsent, command.OneLine(m.Absent.Error())
		} else {
			d.Ready = true
		}
		d.Modes = append(d.Modes, p)
	}
	failed := found.Run
	if failed == nil && !d.Ready {
		failed = errors.New("none of these modes can be measured on this cluster")
	}
	if failed != nil {
		d.Reason = command.OneLine(failed.Error())
		failed = command.Environment(failed)
	}
	if f.json {
		return errors.Join(a.PrintJSON(d), failed)
	}
	return errors.Join(d.print(a.Stdout), failed)
}

// probedAbsent is the status of a mode that a run would leave out.
const probedAbsent = "left out"

func (d *kubeDiagnosis) print(w io.Writer) error {
	if err := printGroups(w, d.Groups); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nRIGHTS")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	denied := 0
	for _, r := range d.Rights {
		has := "yes"
		switch {
		case !r.Allowed && r.Optional:
			has = "no, optional"
		case !r.Allowed:
			has = "no"
			denied++
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", r.Right, has, r.For)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	can, _, err := printProbed(w, d.Modes)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%d of %d modes would be measured; %d of %d rights are missing; nothing was created\n", can, len(d.Modes), denied, len(d.Rights))
	return err
}
