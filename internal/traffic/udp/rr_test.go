package udp

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

func TestUDPRR(t *testing.T) {
	for pairing, ends := range pairings(newRR) {
		for _, rate := range []int{0, 500} {
			p := params("udp_rr")
			p.TransactionRate, p.ResponseSize = rate, 600
			name := fmt.Sprintf("%s, rate %d", pairing, rate)
			client, server, err := trial(t, ends[0], ends[1], p)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			m, series := ends[1].Metrics(p, client, server)
			must.True(t, client.Sent == server.Received && server.Sent == client.Received && client.Messages == server.Messages && m["loss_ratio"] == 0,
				"%s: client %+v, server %+v", name, client, server)
			// A machine that schedules nothing for longer than the trial has no exchange in the window.
			w := client.Window
			if len(series.Values) != 3 || (m["transaction_rate"] > 0) != (w.Messages > 0) || (m["rtt_p50"] > 0) != (w.RTT.Count() > 0) || m["rtt_max"] < m["rtt_p999"] || m["rtt_p999"] < m["rtt_p50"] {
				t.Errorf("%s: %v, %v", name, m, series)
			}
			if own := client.OwnTime; (own != nil) != (rate == 0) || own != nil && !(*own > 0 && *own < 1e-3) {
				t.Errorf("%s: own time %v", name, own)
			}
			if rate > 0 && (w.Slots != 125 || w.RTT.Count()+w.Missed > w.Slots) {
				t.Errorf("%s: %d exchanges and %d missed in %d slots, want 125", name, w.RTT.Count(), w.Missed, w.Slots)
			}
		}
	}
}

// An exchange without a response is lost, in the counts and in the loss ratio. A response that is
// late, duplicated or from another address does not count.
func TestUDPRRLost(t *testing.T) {
	p := params("udp_rr")
	p.Warmup, p.Duration = 0, 700*time.Millisecond
	c := bareServer(t, &p)
	defer c.Close()
	go func() {
		to, err := acceptHandshake(c, p)
		if err != nil {
			return
		}
		buf := make([]byte, maxMessage)
		for i := 0; ; i++ {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if n != 16 || i%8 == 3 { // every eighth gets no response
				continue
			}
			for _, b := range [][]byte{[]byte("garbage"), buf[:n], buf[:n]} {
				_, _ = c.WriteTo(b, to)
			}
		}
	}()
	w := rr{socket.FastestUDP()}
	r := must.Get(w.Dial(t.Context(), p, nil))(t)
	f := r.Datagrams.Flows[0]
	lost := f.Sent - f.Received
	m, _ := w.Metrics(p, r, traffic.Report{})
	must.True(t, lost != 0 && f.Sent == r.Messages && m["loss_ratio"] == float64(f.SentCounted-f.ReceivedCounted)/float64(f.SentCounted) && m["loss_ratio"] > 0,
		"%d lost, %v, %+v", lost, m, r)
	must.True(t, *r.Datagrams.Duplicates != 0 && *r.Datagrams.Late == 0 && *r.Datagrams.Foreign != 0 && len(r.Notes) != 0, "%+v, notes %v", r.Datagrams, r.Notes)
}
