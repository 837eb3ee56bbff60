package agent

import (
	"context"
	"fmt"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/observe"
	"tare/internal/observe/idle"
	"tare/internal/observe/netstack"
	"tare/internal/traffic/clock"
)

// cpuReader reads the CPU times of the agent's machine. Most agents are never asked for them, so its
// threads start with the first reading.
type cpuReader struct {
	opened bool
	idle   *idle.Reader // nil if the machine has no exact idle times
}

// read replies with the CPU times of the machine, their time since began, and the machine's boot id.
func (c *cpuReader) read(id uint64, began clock.Instant) wire.Reply {
	const proc = "/proc"
	if !c.opened {
		c.idle, _ = idle.Open("/sys") // without it, the times are those of /proc/stat alone
		c.opened = true
	}
	times, at, err := observe.NewCPU(proc).WithIdle(c.idle).ReadTimes()
	if err != nil {
		return wire.Reply{ID: id, Error: err.Error()}
	}
	return wire.Reply{ID: id, Boot: netstack.Boot(proc), CPU: &times, Clock: began.Since() - time.Since(at)}
}

func (c *cpuReader) close() { c.idle.Close() }

// CPU reads the CPU times of the agent's machine and the boot id of its kernel. Two agents with the
// same boot id are on the same machine. Samples of one agent can be compared with each other only,
// not with those of another agent. A call takes one round trip of the agent's transport.
func (c *Client) CPU(ctx context.Context) (boot string, s observe.Sample, err error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpCPU})
	if err == nil && reply.CPU == nil {
		err = fmt.Errorf("agent in %s answered without CPU times", c.place)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read CPU time: %w", err)
	}
	if reply.Boot == "" {
		return "", nil, fmt.Errorf("read CPU time: the kernel of %s has no boot id", c.place)
	}
	s, err = reply.CPU.Sample(time.Unix(0, 0).Add(reply.Clock))
	return reply.Boot, s, err
}
