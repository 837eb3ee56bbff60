package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/driver/ipsec"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/ovs"
	"tare/internal/driver/rootless"
	"tare/internal/driver/vm"
	"tare/internal/driver/wireguard"
	"tare/internal/lab"
)

// standRepeats of each timing of modes with programs of their own, which take longer
// than namespaces.
const standRepeats = 5

// engines times private engines and Docker's modes on them.
func engines(ctx context.Context, _ bench) error {
	return standings(ctx, "Docker's modes", enginesAlone, docker.Driver{})
}

// others times the modes with processes of their own, and virtual machines.
func others(ctx context.Context, _ bench) error {
	return standings(ctx, "modes with processes of their own", nil,
		ipsec.Driver{}, wireguard.Driver{}, rootless.Driver{}, ovs.Driver{}, vm.New(os.Getenv(vm.KernelVariable)))
}

// standings times all modes of drivers that have one name.
func standings(ctx context.Context, of string, first func(context.Context, lab.Spec) error, drivers ...labdriver.Driver) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	spec := lab.Spec{Claim: claim, Label: "bench", MTU: lab.DefaultMTU, Offload: true, Pin: true}
	fmt.Printf("### What %s take to stand: median (most) of %d\n\n", of, standRepeats)
	fmt.Println("| mode | provisioned | + both hellos | taken down |\n|---|---|---|---|")
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
			if err := standing(ctx, d, labdriver.OrderOn(spec, driver.Order{Mode: m.ID, Pairs: 1})); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	return nil
}

// standing times one mode, from the order to the hello of both agents, and its end.
func standing(ctx context.Context, d labdriver.Driver, o labdriver.Order) error {
	if err := d.Probe(ctx, o); err != nil {
		u, lacking := driver.AsUnsupported(err)
		if !lacking {
			return err
		}
		fmt.Printf("| %s | unsupported: %s | | |\n", o.Mode, u.Reason)
		return nil
	}
	var up, hello, down []float64
	for range standRepeats {
		began := time.Now()
		p, err := d.Provision(ctx, o)
		if err != nil {
			return err
		}
		up = append(up, millis(began))
		began = time.Now()
		if err := greet(ctx, p, o.Run); err != nil {
			return errors.Join(err, p.Close(ctx))
		}
		hello = append(hello, millis(began))
		began = time.Now()
		if err := p.Close(ctx); err != nil {
			return err
		}
		down = append(down, millis(began))
	}
	fmt.Printf("| %s | %s | %s | %s |\n", o.Mode, middle(up), middle(hello), middle(down))
	return nil
}

// middle is a median with the largest behind it, both in seconds, of ms.
func middle(ms []float64) string {
	return fmt.Sprintf("%.2f (%.2f) s", median(ms)/1000, slices.Max(ms)/1000)
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
