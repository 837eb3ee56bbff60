package agent

import (
	"context"
	"fmt"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/observe"
	"tare/internal/observe/netstack"
)

// readCPU reads the CPU times of the machine, and when that was since began.
func readCPU(proc string, began time.Time, reply *wire.Reply) {
	reading := netstack.Reading{Boot: netstack.Boot(proc)}
	from := time.Since(began)
	reading.ReadCPU(proc)
	reply.Clock = (from + time.Since(began)) / 2
	reply.Reading = &reading
}

// CPU reads the CPU times of the agent's machine, with the boot id of its kernel: two
// agents with one are on one machine. Samples of one agent may be compared with each
// other, and with no other's. It takes a round trip of the agent's transport.
func (c *Client) CPU(ctx context.Context) (boot string, s observe.Sample, err error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpCPU})
	if err == nil && reply.Reading == nil {
		err = fmt.Errorf("agent in %s answered without a reading", c.place)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read CPU time: %w", err)
	}
	if boot = reply.Reading.Boot; boot == "" {
		return "", nil, fmt.Errorf("read CPU time: the kernel of %s tells no boot id", c.place)
	}
	s, err = observe.ParseCPU(time.Unix(0, 0).Add(reply.Clock), []byte(reply.Reading.CPU))
	return boot, s, err
}
