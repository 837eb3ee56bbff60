// Package owncost measures the cost of tare itself: the program, its set-ups, and its
// reports.
package owncost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"tare/bench/harness"
	"tare/internal/agent/transport"
	"tare/internal/program/agentfile"
)

// starts is the number of starts of an agent.
const starts = 51

// Program measures the program: its size, its agent's size, start time and memory, and the time
// to set up and take down labs and modes.
func Program(ctx context.Context, b harness.Options) error {
	info, err := os.Stat(b.Tare)
	if err != nil {
		return err
	}
	path, err := agentfile.Path()
	if err != nil {
		return fmt.Errorf("find the agent's program: %w; build bench with -tags=buildid,agentfile after `make agents`", err)
	}
	agent, err := os.Stat(path)
	if err != nil {
		return err
	}
	var own, whole started
	for range starts { // interleaved, because the machine's speed varies
		if err := errors.Join(own.start(ctx, path), whole.start(ctx, b.Tare)); err != nil {
			return err
		}
	}
	o, err := b.RunFit(ctx, "", "--profile", "quick", "--max-time", "45s")
	if err != nil {
		return err
	}
	mega := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	harness.Title("What tare costs")
	harness.Columns("what", "measured", "goal")
	for _, row := range [][3]string{
		{"binary", mega(info.Size()), "32 MB"},
		{"the agent's program", mega(agent.Size()), "5 MB"},
		{"agent, start to handshake", own.time(), "3 ms"},
		{"the whole program as agent, start to handshake", whole.time(), ""},
		{"agent, resident when idle", mega(own.resident), ""},
		{"the whole program as agent, resident when idle", mega(whole.resident), ""},
		{"agent, peak resident in a run", mega(int64(o.Memory.Agent)), "10 MB"},
		{"controller, peak resident", mega(int64(o.Memory.Controller)), "40 MB"},
	} {
		fmt.Printf("| %s | %s | %s |\n", row[0], row[1], row[2])
	}
	return labs(ctx)
}

// started are the starts of one program as an agent.
type started struct {
	ms       []float64 // until its handshake
	resident int64     // the most seen after it, in bytes
}

func (s *started) time() string { return fmt.Sprintf("%.1f ms", harness.Median(s.ms)) }

// residentKB finds the resident memory in the status of a process.
var residentKB = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// start starts an agent, reads its first line and how much memory it has, and ends it.
func (s *started) start(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, program, transport.AgentCommand)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	s.ms = append(s.ms, float64(time.Since(began).Microseconds())/1000)
	status, errStatus := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	in.Close()
	if err := errors.Join(err, errStatus, cmd.Wait()); err != nil {
		return err
	}
	m := residentKB.FindSubmatch(status)
	if m == nil {
		return fmt.Errorf("the status of an agent has no VmRSS: %.200q", status)
	}
	kB, err := strconv.ParseInt(string(m[1]), 10, 64)
	s.resident = max(s.resident, kB<<10)
	return err
}
