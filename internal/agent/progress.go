package agent

import (
	"context"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/traffic"
)

// sendProgress sends how far the trial of a request is, as often as it asks for, until
// ctx ends. Nothing is sent while nothing comes, nor by an end that counts nothing.
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
				return // the controller is gone
			}
		}
	}()
}

// Watch has do called with each message of progress of the trial that is begun next,
// whose parameters must ask for them. It is called by one goroutine at a time and must
// not block: replies wait for it. An agent that knows nothing of progress sends none.
func (c *Client) Watch(do func(traffic.Progress)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch, c.watchedID = do, 0
}

// progress hands on a message. Those of a trial before are too late.
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
