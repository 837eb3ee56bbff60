// Package owncost measures the cost of tare itself: the program, its set-ups, and its
// reports.
package owncost

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"

	"tare/bench/harness"
)

// Program measures the program: its size, its start time, its memory, and the time to set
// up and take down labs and modes.
func Program(ctx context.Context, b harness.Options) error {
	info, err := os.Stat(b.Tare)
	if err != nil {
		return err
	}
	var started []float64
	for range repeats {
		if err := harness.Timed(&started, func() error { return handshakeTime(ctx, b.Tare) }); err != nil {
			return err
		}
	}
	o, err := b.RunFit(ctx, "", "--profile", "quick", "--max-time", "45s")
	if err != nil {
		return err
	}
	harness.Title("What tare costs")
	harness.Columns("what", "measured")
	fmt.Printf("| binary | %.1f MB |\n", float64(info.Size())/1e6)
	fmt.Printf("| agent, start to handshake | %.1f ms |\n", harness.Median(started))
	fmt.Printf("| controller, peak resident | %.1f MB |\n", float64(o.Memory.Controller)/1e6)
	fmt.Printf("| agent, peak resident | %.1f MB |\n", float64(o.Memory.Agent)/1e6)
	return labs(ctx)
}

// handshakeTime starts an agent and reads its first line.
func handshakeTime(ctx context.Context, tare string) error {
	cmd := exec.CommandContext(ctx, tare, "agent")
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
