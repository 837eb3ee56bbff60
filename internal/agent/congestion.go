package agent

import (
	"context"
	"fmt"

	"tare/internal/agent/wire"
	"tare/internal/traffic/socket"
)

// congestions replies with the congestion controls that this agent may set.
func congestions(req wire.Request) wire.Reply {
	settable, standard, err := socket.Congestions()
	if err != nil {
		return errorReply(req.ID, err)
	}
	return wire.Reply{ID: req.ID, Congestions: &wire.Congestions{Settable: settable, Default: standard}}
}

// maxCongestions is more than the congestion controls of any kernel.
const maxCongestions = 100

// Congestions returns the TCP congestion controls that the agent may set on a socket, and the one
// that a socket has by default. Both are empty where the system chooses. Do not call it while a
// trial is timed.
func (c *Client) Congestions(ctx context.Context) (wire.Congestions, error) {
	reply, err := c.callWithTimeout(ctx, wire.Request{Op: wire.OpCongestions})
	if err == nil && reply.Congestions == nil {
		err = fmt.Errorf("agent in %s replied without congestion controls", c.place)
	}
	if err != nil {
		return wire.Congestions{}, fmt.Errorf("read which congestion controls may be set: %w", err)
	}
	var out wire.Congestions
	out.Default = clean(reply.Congestions.Default, maxFactName)
	for _, name := range reply.Congestions.Settable[:min(len(reply.Congestions.Settable), maxCongestions)] {
		out.Settable = append(out.Settable, clean(name, maxFactName))
	}
	return out, nil
}
