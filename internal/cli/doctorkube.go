package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"tare/internal/facts"
	"tare/internal/hosts"
)

// kubeDiagnosis is the result of doctor about a cluster, as --json prints it.
type kubeDiagnosis struct {
	Ready  bool              `json:"ready"`
	Reason string            `json:"reason,omitempty"` // why no mode can be measured
	Groups []facts.Group     `json:"groups"`
	Rights []hosts.KubeRight `json:"rights"`
	Modes  []probed          `json:"modes"`
}

// doctorKube asks a cluster what a run there would be allowed to do.
func (a App) doctorKube(ctx context.Context, f doctorFlags) error {
	switch {
	case len(f.hosts) > 0:
		return usage(errors.New("--host examines machines, --kube a cluster; leave out one of them"))
	case f.machine:
		return usage(errors.New("--machine examines this machine, --kube a cluster; leave out one of them"))
	case f.json && f.roles:
		return usage(errors.New("--roles prints YAML; leave out --json"))
	}
	a, at, err := a.onCluster(f.kubeFlags)
	if err != nil {
		return usage(err)
	}
	names, err := a.chosen(f.modes)
	if err != nil {
		return err
	}
	ctx, stop := a.ending(ctx)
	defer stop()
	found, err := hosts.CheckKube(ctx, at, names)
	switch {
	case ctx.Err() != nil:
		return &codeError{exitInterrupted, errors.New("doctor: interrupted")}
	case err != nil:
		return environment(err)
	case f.roles:
		_, err := a.Stdout.Write(found.Roles)
		return err
	}
	d := kubeDiagnosis{Groups: found.Groups, Rights: found.Rights, Modes: []probed{}}
	for _, m := range found.Modes {
		p := probed{m.Mode, probedOK, ""}
		if m.Absent != nil {
			p.Status, p.Reason = probedAbsent, oneLine(m.Absent.Error())
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
		d.Reason = oneLine(failed.Error())
		failed = environment(failed)
	}
	if f.json {
		enc := json.NewEncoder(raw(a.Stdout))
		enc.SetIndent("", "  ")
		return errors.Join(enc.Encode(d), failed)
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
	fmt.Fprintln(w, "\nMODES")
	can := 0
	first := map[string]string{}
	for _, m := range d.Modes {
		reason := m.Reason
		switch same := first[reason]; {
		case same != "":
			reason = "as " + same
		case reason != "":
			first[reason] = m.Mode
		}
		if m.Status == probedOK {
			can++
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", m.Mode, m.Status, reason)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d of %d modes would be measured; %d of %d rights are missing; nothing was created\n", can, len(d.Modes), denied, len(d.Rights))
	return err
}
