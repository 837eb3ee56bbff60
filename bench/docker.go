package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/docker"
	"tare/internal/engine"
	"tare/internal/lab"
)

// engineRepeats of each timing with engines, which take longer than namespaces.
const engineRepeats = 5

// engines times private engines, and Docker's modes on them: how long both ends
// take to answer, without the start of the engines, and to be gone.
func engines(ctx context.Context, _ bench) error {
	claim, err := lab.NewClaim()
	if err != nil {
		return err
	}
	defer claim.Release()
	spec := lab.Spec{Claim: claim, Label: "bench", MTU: lab.DefaultMTU, Offload: true, Pin: true}
	fmt.Println("### What Docker's modes take to stand")
	fmt.Println()
	fmt.Println("| what | engines ready | ends ready | gone |\n|---|---|---|---|")
	if err := enginesAlone(ctx, spec); err != nil {
		return err
	}
	d := docker.Driver{}
	for _, m := range d.Modes() {
		if strings.HasSuffix(m.ID, ":NAME") {
			continue // of the user's choice
		}
		if err := standing(ctx, d, driver.Order{Mode: m.ID, Pairs: 1, Lab: spec}); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// enginesAlone times two engines, side by side.
func enginesAlone(ctx context.Context, spec lab.Spec) error {
	var up, down []float64
	for range engineRepeats {
		l, err := lab.Up(spec)
		if err != nil {
			return err
		}
		began := time.Now()
		a, b, err := engine.StartBoth(ctx, l)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		up = append(up, millis(began))
		began = time.Now()
		if err := errors.Join(engine.CloseAll(a, b), l.Close()); err != nil {
			return err
		}
		down = append(down, millis(began))
	}
	fmt.Printf("| two engines | %.0f ms | | %.0f ms |\n", median(up), median(down))
	return nil
}

// standing times one mode, from the order to the hello of both agents.
func standing(ctx context.Context, d docker.Driver, o driver.Order) error {
	if err := d.Probe(ctx, o); err != nil {
		u, lacking := driver.AsUnsupported(err)
		if !lacking {
			return err
		}
		fmt.Printf("| %s | unsupported: %s | | |\n", o.Mode, u.Reason)
		return nil
	}
	var up, hello, down []float64
	for range engineRepeats {
		began := time.Now()
		p, err := d.Provision(ctx, o)
		if err != nil {
			return err
		}
		up = append(up, millis(began))
		began = time.Now()
		if err := greet(ctx, p, o.Lab.Claim.ID); err != nil {
			return errors.Join(err, p.Close(ctx))
		}
		hello = append(hello, millis(began))
		began = time.Now()
		if err := p.Close(ctx); err != nil {
			return err
		}
		down = append(down, millis(began))
	}
	fmt.Printf("| %s | %.0f ms with the network and containers | + %.0f ms | %.0f ms |\n", o.Mode, median(up), median(hello), median(down))
	return nil
}

// greet starts the agents of both ends, one after the other, and ends them.
func greet(ctx context.Context, p driver.Path, run string) error {
	var errs []error
	for _, end := range []driver.Endpoint{p.Pairs()[0].Client, p.Pairs()[0].Server} {
		c, err := agent.Start(ctx, end.Launcher, run, end.Name)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		defer c.Close()
	}
	return errors.Join(errs...)
}
