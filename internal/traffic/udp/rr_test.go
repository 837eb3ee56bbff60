package udp

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

func TestUDPRR(t *testing.T) {
	t.Parallel()
	for pairing, ends := range pairings(newRR) {
		for _, rate := range []int{0, 500} {
			p := params("udp_rr")
			p.TransactionRate, p.ResponseSize = rate, 600
			name := fmt.Sprintf("%s, rate %d", pairing, rate)
			client, server, err := trial(t, ends[0], ends[1], p)
			for err == nil && client.Datagrams.Total().Received == 0 && p.Duration < 10*time.Second { // no response came in time
				p.Duration *= 2
				client, server, err = trial(t, ends[0], ends[1], p)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			m, series := ends[1].Metrics(p, client, server)
			// Where an endpoint got no CPU for so long that an exchange was lost, its response is late, but for those that
			// were lost one after the other until the end.
			all := client.Datagrams.Total()
			lost, unread := all.Sent-all.Received, int64((p.Warmup+p.Duration)/replyTimeout)+1
			must.True(t, all.Received > 0 && client.Sent == server.Received && client.Messages == server.Messages && server.Sent-client.Received == lost*int64(p.ResponseSize) &&
				*client.Datagrams.Late <= lost && *client.Datagrams.Late >= lost-unread && m["loss_ratio"]*float64(all.SentCounted) == float64(all.SentCounted-all.ReceivedCounted),
				"%s: client %+v, %+v, server %+v", name, client, client.Datagrams, server)
			// A machine that schedules nothing for longer than the trial has no exchange in the window.
			w := client.Window
			if len(series.Values) != len(intervals(p)) || (m["transaction_rate"] > 0) != (w.Messages > 0) || (m["rtt_p50"] > 0) != (w.RTT.Count() > 0) || m["rtt_max"] < m["rtt_p999"] || m["rtt_p999"] < m["rtt_p50"] {
				t.Errorf("%s: %v, %v", name, m, series)
			}
			if own := client.OwnTime; (own != nil) != (rate == 0) || own != nil && !(*own > 0 && *own < 1e-3) {
				t.Errorf("%s: own time %v", name, own)
			}
			if want := int64(p.Duration * 500 / time.Second); rate > 0 && (w.Slots != want || w.RTT.Count()+w.Missed > w.Slots) {
				t.Errorf("%s: %d exchanges and %d missed in %d slots, want %d", name, w.RTT.Count(), w.Missed, w.Slots, want)
			}
		}
	}
}

// An exchange without a response is lost, in the counts and in the loss ratio, and the next one follows. A response that is
// late, duplicated or from another address does not count.
func TestUDPRRLost(t *testing.T) {
	t.Parallel()
	p := params("udp_rr")
	p.Warmup, p.Duration = 0, 100*time.Millisecond
	w := rr{socket.FastestUDP()}
	for ; ; p.Duration *= 2 {
		var seen, dropped atomic.Int64
		c := losesRequests(t, &p, &seen, &dropped)
		r, err := w.Dial(t.Context(), p, nil)
		c.Close()
		must.Do(t, err)
		f := r.Datagrams.Flows[0]
		// By then an exchange was lost, others followed, and a duplicate was read. How soon that is depends on the machine.
		if (seen.Load() < 5 || f.Received < 2) && p.Duration <= longestWindow {
			continue
		}
		lost := f.Sent - f.Received
		m, _ := w.Metrics(p, r, traffic.Report{})
		must.True(t, lost != 0 && f.Sent == r.Messages && m["loss_ratio"] == float64(f.SentCounted-f.ReceivedCounted)/float64(f.SentCounted) && m["loss_ratio"] > 0,
			"%d lost, %v, %+v", lost, m, r)
		// On a busy machine the server may have sent some too late.
		must.True(t, *r.Datagrams.Duplicates != 0 && *r.Datagrams.Late <= lost-min(lost, dropped.Load()) && *r.Datagrams.Foreign != 0 && len(r.Notes) != 0, "%+v, notes %v", r.Datagrams, r.Notes)
		return
	}
}

// losesRequests serves udp_rr, but for every eighth request, with datagrams that count for nothing before and after each response.
func losesRequests(t *testing.T, p *traffic.Params, seen, dropped *atomic.Int64) net.PacketConn {
	c := bareServer(t, p)
	go func() {
		to, err := acceptHandshake(c, *p)
		if err != nil {
			return
		}
		buf := make([]byte, maxMessage)
		for {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if i := seen.Add(1) - 1; n != 16 || i%8 == 3 {
				dropped.Add(1)
				continue
			}
			for _, b := range [][]byte{[]byte("garbage"), buf[:n], buf[:n]} {
				_, _ = c.WriteTo(b, to)
			}
		}
	}()
	return c
}
