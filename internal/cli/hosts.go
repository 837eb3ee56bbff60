package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/facts"
	"tare/internal/hosts"
	"tare/internal/machine"
	"tare/internal/result"
	"tare/internal/study"
)

// hostFlags choose two machines.
type hostFlags struct{ hosts []string }

func (f *hostFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.hosts, "host", nil, "given twice: the two machines, the client's first: local, or ssh://[user@]name[:port] as your ssh reaches it;\n"+
		"add =ADDRESS to name the address at which the other one reaches it")
}

// parse returns the machines by the flags; no target without any.
func (f *hostFlags) parse() (study.Target, error) {
	var t study.Target
	switch len(f.hosts) {
	case 0:
		return t, nil
	case 2:
	default:
		return t, fmt.Errorf("--host was given %s; give it twice, the client's machine first", times(len(f.hosts)))
	}
	for _, given := range f.hosts {
		h := study.Host{Machine: given}
		if at := strings.LastIndexByte(given, '='); at >= 0 {
			h.Machine, h.Address = given[:at], given[at+1:]
			if h.Address == "" {
				return t, fmt.Errorf("--host %s: no address follows the equals sign", given)
			}
		}
		if h.Machine == "" {
			return t, errors.New("--host names no machine; want local, or ssh://[user@]name[:port]")
		}
		t.Hosts = append(t.Hosts, h)
	}
	return t, nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// onHosts returns the program for the machines of the flags, or for this one if none are given.
// modes are those that the user named: the files that they name are trusted.
func (a App) onHosts(f hostFlags, modes []string) (_ App, given bool, err error) {
	t, err := f.parse()
	if err == nil && len(t.Hosts) > 0 {
		if err = t.Check(a.Catalog()); err != nil {
			err = fmt.Errorf("--host: %w", err)
		}
	}
	if err != nil {
		return a, false, err
	}
	return a.on(t, hosts.Options{Modes: modes}), len(t.Hosts) > 0, nil
}

// hostsDiagnosis is the result of doctor about two machines, as --json prints it.
type hostsDiagnosis struct {
	Ready    bool             `json:"ready"`
	Reason   string           `json:"reason,omitempty"` // why no mode can be built
	Groups   []facts.Group    `json:"groups"`
	Modes    []probed         `json:"modes"`
	Warnings []result.Warning `json:"warnings"`
}

// doctorHosts examines two machines and what is between them, and tries modes there.
func (a App) doctorHosts(ctx context.Context, f doctorFlags) (failed error) {
	names, err := a.chosen(f.modes)
	if err != nil {
		return err
	}
	ctx, stop := a.ending(ctx)
	defer stop()
	defer func() { failed = errors.Join(failed, a.target.Close()) }()
	d := hostsDiagnosis{Groups: []facts.Group{}, Modes: []probed{}, Warnings: []result.Warning{}}
	var broken error
	warnings, err := a.target.Diagnose(ctx, func(g facts.Group) {
		d.Groups = append(d.Groups, g)
		if !f.json && broken == nil {
			broken = printGroups(a.Stdout, []facts.Group{g})
		}
	})
	d.Warnings = append(d.Warnings, warnings...)
	if err != nil {
		err = environment(err)
		d.Reason = oneLine(err.Error())
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
		return &codeError{exitInterrupted, errors.New("doctor: interrupted")}
	case f.json:
		enc := json.NewEncoder(raw(a.Stdout))
		enc.SetIndent("", "  ")
		broken = enc.Encode(d)
	}
	return errors.Join(err, broken)
}

// collectOnHosts removes what dead runs left on machines, or lists it.
func (a App) collectOnHosts(ctx context.Context, hosts []string, dry bool) error {
	var at []machine.Address
	for _, given := range hosts {
		one, err := machine.Parse(given)
		if err != nil {
			return usage(fmt.Errorf("--%w", err))
		}
		at = append(at, one)
	}
	ctx, stop := a.ending(ctx)
	defer stop()
	var errs []error
	for _, one := range at {
		lines, noRoot, err := machine.CollectDead(ctx, one.String(), one, machine.Options{}, dry)
		for _, line := range lines {
			fmt.Fprintf(a.Stdout, "%s: %s\n", one, line)
		}
		switch {
		case err != nil:
			errs = append(errs, environment(err))
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
