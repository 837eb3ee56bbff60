package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// The endpoint that counts reports its progress during the trial, and never more than was counted
// by then. The other endpoint reports nothing.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, tells string
		change      func(*traffic.Params)
	}{
		{"tcp_stream", "server", func(*traffic.Params) {}},
		{"tcp_stream", "client", func(p *traffic.Params) { p.Direction = study.Reverse }},
		{"tcp_stream", "both", func(p *traffic.Params) { p.Direction = study.Both }},
		{"tcp_rr", "client", func(*traffic.Params) {}},
		{"tcp_crr", "client", func(*traffic.Params) {}},
		{"udp_stream", "server", func(p *traffic.Params) { p.PayloadSize, p.Rate = 1000, 8e6 }},
		{"udp_rr", "client", func(p *traffic.Params) { p.RequestSize, p.ResponseSize = 16, 16 }},
	} {
		t.Run(c.kind+" "+c.tells, func(t *testing.T) {
			t.Parallel()
			client, server := begin(t), begin(t)
			p := long(params(c.kind))
			p.Duration, p.Progress = 5*time.Minute, traffic.MinProgressInterval
			c.change(&p)
			type reported struct {
				by string
				traffic.Progress
			}
			received := make(chan reported, 1000)
			client.Watch(func(p traffic.Progress) { received <- reported{"client", p} })
			server.Watch(func(p traffic.Progress) { received <- reported{"server", p} })
			trial := must.Get(agent.Begin(t.Context(), client, server, p, p))(t)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_, _, err := trial.Run(ctx)
				ended <- err
			}()
			last, by := map[string]traffic.Progress{}, map[string]int{}
			for enough := false; !enough; {
				select {
				case h := <-received:
					if rate, ok := h.Rate(last[h.by]); !ok || rate <= 0 {
						t.Errorf("the %s reported %+v after %+v", h.by, h.Progress, last[h.by])
					}
					must.True(t, h.Busy <= p.Warmup+p.Duration, "the %s was busy for %s", h.by, h.Busy)
					last[h.by] = h.Progress
					by[h.by]++
				case err := <-ended:
					t.Fatalf("the trial ended: %v", err)
				}
				enough = by["client"] >= 2 || by["server"] >= 2
				if c.tells == "both" {
					enough = by["client"] >= 2 && by["server"] >= 2
				}
			}
			trial.Abort(t.Context())
			must.FailFor(t, "a cancelled trial returned no error", <-ended)
			must.True(t, c.tells == "both" || by[c.tells] >= 2 && len(by) <= 1, "progress came from %v, want the %s only", by, c.tells)
		})
	}
}

// An endpoint that did not ask gets no progress, and a trial in slices counts only its own slices.
func TestProgressOnRequest(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	none := func(traffic.Progress) { t.Error("progress came without being requested") }
	client.Watch(none)
	server.Watch(none)
	p := params("tcp_rr")
	p.Duration = traffic.MinProgressInterval * 3 / 2
	trial, err := agent.Begin(t.Context(), client, server, p, p)
	if err == nil {
		_, _, err = trial.Run(t.Context())
	}
	must.Do(t, err)

	received := make(chan traffic.Progress, 1000)
	client.Watch(func(p traffic.Progress) { received <- p })
	p = long(params("tcp_rr"))
	p.Slice, p.Progress = 20*time.Millisecond, traffic.MinProgressInterval
	trial, err = agent.Begin(t.Context(), client, server, p, p)
	must.Do(t, err)
	began := time.Now()
	if _, err = trial.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var now traffic.Progress
	for slices := 0; err == nil && now.Count == 0; slices++ {
		if _, err = trial.Slice(t.Context(), p.Slice); err != nil {
			break
		}
		time.Sleep(p.Slice) // the slices of other modes
		select {
		case now = <-received:
			if most := time.Since(began) - time.Duration(slices)*p.Slice; now.Busy <= 0 || now.Busy > most {
				err = fmt.Errorf("%s of traffic after %d slices of %s", now.Busy, slices+1, p.Slice)
			}
		default:
		}
	}
	_, _, closed := trial.Close(t.Context())
	must.Do(t, errors.Join(err, closed))
}
