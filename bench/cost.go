package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// repeats of each timing; the medians are printed.
const repeats = 11

// cost measures the program: its size, its start, its memory, and how long labs
// and modes take to stand and to fall.
func cost(ctx context.Context, b bench) error {
	info, err := os.Stat(b.tare)
	if err != nil {
		return err
	}
	hello, err := timed(func() error { return b.hello(ctx) })
	if err != nil {
		return err
	}
	o, err := b.weigh(ctx, "", "--profile", "quick", "--max-time", "45s")
	if err != nil {
		return err
	}
	fmt.Println("### What tare costs")
	fmt.Println()
	fmt.Println("| what | measured |\n|---|---|")
	fmt.Printf("| binary | %.1f MB |\n", float64(info.Size())/1e6)
	fmt.Printf("| agent, start to hello | %.1f ms |\n", hello)
	fmt.Printf("| controller, peak resident | %.1f MB |\n", float64(o.memory.controller)/1e6)
	fmt.Printf("| agent, peak resident | %.1f MB |\n", float64(o.memory.agent)/1e6)
	return stands(ctx)
}

// hello starts an agent and reads its first line.
func (b bench) hello(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, b.tare, "agent")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	in.Close()
	if werr := cmd.Wait(); err == nil {
		err = werr
	}
	return err
}

// stands times labs and modes.
func stands(ctx context.Context) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	spec := lab.Spec{Claim: claim, Label: "bench", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()}
	var up, down, provision []float64
	for range repeats {
		began := time.Now()
		l, err := lab.Up(spec)
		if err != nil {
			return err
		}
		up = append(up, millis(began))
		began = time.Now()
		if err := l.Close(); err != nil {
			return err
		}
		down = append(down, millis(began))
	}
	fmt.Printf("| lab up | %.0f ms |\n| lab down | %.0f ms |\n", median(up), median(down))
	d := netns.Driver{}
	for _, m := range d.Modes() {
		if d.Probe(ctx, labdriver.Order{Order: driver.Order{Mode: m.ID}}) != nil {
			continue
		}
		provision = nil
		for range repeats {
			began := time.Now()
			p, err := d.Provision(ctx, labdriver.OrderOn(spec, driver.Order{Mode: m.ID, Pairs: 1}))
			if err != nil {
				return err
			}
			provision = append(provision, millis(began))
			if err := p.Close(ctx); err != nil {
				return err
			}
		}
		fmt.Printf("| provision %s | %.0f ms |\n", m.ID, median(provision))
	}
	fmt.Println()
	return nil
}

func timed(fn func() error) (float64, error) {
	var took []float64
	for range repeats {
		began := time.Now()
		if err := fn(); err != nil {
			return 0, err
		}
		took = append(took, millis(began))
	}
	return median(took), nil
}

func millis(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }
