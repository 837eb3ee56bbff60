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
	"tare/internal/driver/docker"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/target"
)

// repeats of each timing that takes milliseconds; the medians are printed.
const repeats = 11

// standRepeats of each timing of modes with programs of their own, which take longer
// than namespaces.
const standRepeats = 5

// labs times labs and the modes that need nothing but the kernel.
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
		o := labdriver.SpecOn(spec, driver.ModeSpec{Mode: m.ID, Pairs: 1})
		if d.Probe(ctx, labdriver.ModeSpec{ModeSpec: driver.ModeSpec{Mode: m.ID}}) != nil {
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
	return standings(ctx, "Docker's modes", enginesAlone, docker.Driver{})
}

// Others times the modes with processes of their own, and virtual machines.
func Others(ctx context.Context, _ harness.Options) error {
	var others []labdriver.Driver
	for _, r := range target.Drivers() {
		if r.Name != "netns" && r.Name != "docker" {
			others = append(others, r.Driver)
		}
	}
	return standings(ctx, "modes with processes of their own", nil, others...)
}

// standings times all modes of drivers that have one name.
func standings(ctx context.Context, of string, first func(context.Context, lab.Spec) error, drivers ...labdriver.Driver) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	spec := specOf(claim, true)
	harness.Title("What %s take to stand: median (most) of %d", of, standRepeats)
	harness.Columns("mode", "provisioned", "+ both hellos", "taken down")
	if first != nil {
		if err := first(ctx, spec); err != nil {
			return err
		}
	}
	for _, d := range drivers {
		for _, m := range d.Modes() {
			if strings.HasSuffix(m.ID, ":NAME") {
				continue // of the user's choice
			}
			if err := standing(ctx, d, labdriver.SpecOn(spec, driver.ModeSpec{Mode: m.ID, Pairs: 1})); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	return nil
}

// standing prints the row of one mode.
func standing(ctx context.Context, d labdriver.Driver, o labdriver.ModeSpec) error {
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
	fmt.Printf("| %s | %s | %s | %s |\n", o.Mode, middle(t.up), middle(t.hello), middle(t.down))
	return nil
}

// times are how long one mode took, in milliseconds.
type times struct{ up, hello, down []float64 }

// timings times one mode so many times: from the order to the path, to the hello of both
// agents if they are to be greeted, and its end.
func timings(ctx context.Context, d labdriver.Driver, o labdriver.ModeSpec, n int, greeted bool) (t times, err error) {
	for range n {
		var p *driver.Path
		if err := harness.Timed(&t.up, func() (err error) { p, err = d.Provision(ctx, o); return err }); err != nil {
			return t, err
		}
		if greeted {
			if err := harness.Timed(&t.hello, func() error { return greet(ctx, p, o.Run) }); err != nil {
				return t, errors.Join(err, p.Close(ctx))
			}
		}
		if err := harness.Timed(&t.down, func() error { return p.Close(ctx) }); err != nil {
			return t, err
		}
	}
	return t, nil
}

// middle is a median with the largest behind it, both in seconds, of ms.
func middle(ms []float64) string {
	return fmt.Sprintf("%.2f (%.2f) s", harness.Median(ms)/1000, slices.Max(ms)/1000)
}

// greet starts the agents of both ends, one after the other, and ends them.
func greet(ctx context.Context, p *driver.Path, run string) error {
	for _, end := range []driver.Endpoint{p.Pairs[0].Client, p.Pairs[0].Server} {
		c, err := agent.Start(ctx, end.Launcher, run, end.Name)
		if err != nil {
			return err
		}
		defer c.Close()
	}
	return nil
}

// enginesAlone times two private engines, side by side, without a mode on them.
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
