package agent

import (
	"context"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/traffic"
)

// sendProgress sends the progress of a request's trial at the interval that the request asks for,
// until ctx ends. It sends nothing while no traffic arrives, nor for an endpoint that does not
// count.
func (s *server) sendProgress(ctx context.Context, id uint64, p *traffic.Params) {
	if p.Progress <= 0 {
		return
	}
	p.Meter = &traffic.Meter{}
	meter, every := p.Meter, max(p.Progress, traffic.MinProgressInterval)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var last traffic.Progress
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now, counts := meter.Read()
			if !counts || now == last {
				continue
			}
			if last = now; s.send(wire.Reply{ID: id, Progress: &now}) != nil {
				return // the controller has exited
			}
		}
	}()
}

// Watch registers do for the progress messages of the next trial, whose parameters must request
// them. Calls are made by one goroutine at a time. do must not block, because replies wait for it.
// An agent that does not support progress sends none.
func (c *Client) Watch(do func(traffic.Progress)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch, c.watchedID = do, 0
}

// progress passes on a message. It ignores messages of earlier trials.
func (c *Client) progress(reply wire.Reply) {
	c.mu.Lock()
	do := c.watch
	if reply.ID != c.watchedID {
		do = nil
	}
	c.mu.Unlock()
	if do != nil {
		do(*reply.Progress)
	}
}
