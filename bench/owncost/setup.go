package owncost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/bench/harness"
	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/engine/private"
	"tare/internal/hosts"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// repeats is the number of repeats of each timing of milliseconds; the medians are
// printed.
const repeats = 11

// standRepeats is the number of repeats for modes with their own processes, which take
// longer than namespaces.
const standRepeats = 5

// labs times labs and the modes that need only the kernel.
func labs(ctx context.Context) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	spec := specOf(claim, linuxnet.RealRoot())
	var up, down []float64
	for range repeats {
		var l *lab.Lab
		if err := harness.Timed(&up, func() (err error) { l, err = lab.Up(spec); return err }); err != nil {
			return err
		}
		if err := harness.Timed(&down, l.Close); err != nil {
			return err
		}
	}
	fmt.Printf("| lab up | %.0f ms |\n| lab down | %.0f ms |\n", harness.Median(up), harness.Median(down))
	d := netns.Driver{}
	for _, m := range d.Modes() {
		o := labdriver.SpecOn(spec, driver.Order{Mode: m.ID, Pairs: 1})
		if d.Probe(ctx, labdriver.Order{Order: driver.Order{Mode: m.ID}}) != nil {
			continue
		}
		t, err := timings(ctx, d, o, repeats, false)
		if err != nil {
			return err
		}
		fmt.Printf("| provision %s | %.0f ms |\n", m.ID, harness.Median(t.up))
	}
	fmt.Println()
	return nil
}

func specOf(claim lab.Claim, pin bool) lab.Spec {
	return lab.Spec{Claim: claim, Label: "bench", MTU: lab.DefaultMTU, Offload: true, Pin: pin}
}

// Engines times private engines and Docker's modes on them.
func Engines(ctx context.Context, _ harness.Options) error {
	return setupTimes(ctx, "Docker's modes", enginesAlone, engines.Docker{})
}

// Others times the modes with their own processes, and virtual machines.
func Others(ctx context.Context, _ harness.Options) error {
	var others []labdriver.Driver
	for _, r := range hosts.Drivers() {
		if _, docker := r.Driver.(engines.Docker); r.Name != "netns" && !docker {
			others = append(others, r.Driver)
		}
	}
	return setupTimes(ctx, "modes with their own processes", nil, others...)
}

// setupTimes times all modes of drivers with the same name.
func setupTimes(ctx context.Context, of string, first func(context.Context, lab.Spec) error, drivers ...labdriver.Driver) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	spec := specOf(claim, true)
	harness.Title("Set-up time of %s: median (max) of %d", of, standRepeats)
	harness.Columns("mode", "provisioned", "+ both hellos", "taken down")
	if first != nil {
		if err := first(ctx, spec); err != nil {
			return err
		}
	}
	for _, d := range drivers {
		for _, m := range d.Modes() {
			if strings.HasSuffix(m.ID, ":NAME") {
				continue // needs a user's name
			}
			if err := setupRow(ctx, d, labdriver.SpecOn(spec, driver.Order{Mode: m.ID, Pairs: 1})); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	return nil
}

// setupRow prints the row of one mode.
func setupRow(ctx context.Context, d labdriver.Driver, o labdriver.Order) error {
	if err := d.Probe(ctx, o); err != nil {
		u, lacking := driver.AsUnsupported(err)
		if !lacking {
			return err
		}
		fmt.Printf("| %s | unsupported: %s | | |\n", o.Mode, u.Reason)
		return nil
	}
	t, err := timings(ctx, d, o, standRepeats, true)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %s | %s | %s |\n", o.Mode, middle(t.up), middle(t.handshake), middle(t.down))
	return nil
}

// times are the durations of one mode's set-up, handshake and teardown, in milliseconds.
type times struct{ up, handshake, down []float64 }

// timings times one mode n times: from the request to the path, to the handshake of both
// agents if greeted is set, and its teardown.
func timings(ctx context.Context, d labdriver.Driver, o labdriver.Order, n int, greeted bool) (t times, err error) {
	for range n {
		var p *driver.Path
		if err := harness.Timed(&t.up, func() (err error) { p, err = d.Provision(ctx, o); return err }); err != nil {
			return t, err
		}
		if greeted {
			if err := harness.Timed(&t.handshake, func() error { return connectAgents(ctx, p, o.Run) }); err != nil {
				return t, errors.Join(err, p.Close(ctx))
			}
		}
		if err := harness.Timed(&t.down, func() error { return p.Close(ctx) }); err != nil {
			return t, err
		}
	}
	return t, nil
}

// middle is the median with the maximum, both in seconds, of ms.
func middle(ms []float64) string {
	return fmt.Sprintf("%.2f (%.2f) s", harness.Median(ms)/1000, slices.Max(ms)/1000)
}

// connectAgents starts the agents of both endpoints, one after the other, and stops them.
func connectAgents(ctx context.Context, p *driver.Path, run string) error {
	for _, end := range []driver.Endpoint{p.Pairs[0].Client, p.Pairs[0].Server} {
		c, err := agent.Start(ctx, end.Launcher, run, end.Name)
		if err != nil {
			return err
		}
		defer c.Close()
	}
	return nil
}

// enginesAlone times two private engines in parallel, without a mode.
func enginesAlone(ctx context.Context, spec lab.Spec) error {
	var up, down []float64
	for range standRepeats {
		l, err := lab.Up(spec)
		if err != nil {
			return err
		}
		var a, b *private.Engine
		if err := harness.Timed(&up, func() (err error) { a, b, err = private.StartBoth(ctx, l); return err }); err != nil {
			return errors.Join(err, l.Close())
		}
		if err := harness.Timed(&down, func() error { return errors.Join(private.CloseAll(a, b), l.Close()) }); err != nil {
			return err
		}
	}
	fmt.Printf("| two engines and nothing else | %s | | %s |\n", middle(up), middle(down))
	return nil
}
