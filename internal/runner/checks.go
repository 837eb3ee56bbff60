package runner

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// underlayDevice is the device name that counters use for a host's interface on the
// underlay, where its rate is limited.
const underlayDevice = "eth0"

// A result that cannot be true is not recorded: something in the counting is broken or
// interfered with it. The trial fails and is tried again. The checks use physical limits
// only, never how fast a trial was.

// checkMetrics reports why the metrics of a trial, or those of one of its pairs, cannot
// be true.
func checkMetrics(metrics map[string]float64, client, server traffic.Report) error {
	return cmp.Or(checkValues(metrics), checkReceived("server", client, server), checkReceived("client", server, client), checkWindow("client", client), checkWindow("server", server))
}

// checkClient is the checks of one of several clients of a server, which counts all of them together.
func checkClient(p traffic.Params, metrics map[string]float64, took time.Duration, client, server traffic.Report) error {
	return cmp.Or(checkValues(metrics), checkReceived("client", server, client), checkWindow("client", client), checkTraffic(p, metrics, client, server), checkElapsed(took, client, server))
}

// checkValues reports a metric that cannot have its value.
func checkValues(metrics map[string]float64) error {
	for _, m := range result.Metrics() {
		v, ok := metrics[m.Name]
		switch {
		case !ok:
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
			return fmt.Errorf("impossible values: %s is %g", m.Name, v)
		case m.Unit == "ratio" && v > 1:
			return fmt.Errorf("impossible values: %s is %g, above 1", m.Name, v)
		case v == 0 && isDuration(m):
			return fmt.Errorf("impossible values: %s is 0, but every transfer takes time", m.Name)
		}
	}
	return nil
}

// isDuration reports whether a metric is a duration that must be above 0. The difference
// of two delays can be 0, and so can be the time until the old rate, if it never fell.
func isDuration(m result.Metric) bool {
	return m.Unit == "s" && !strings.HasPrefix(m.Name, "delay_variation") && m.Name != result.Recovery
}

// checkReceived reports an error if more was received than was sent. It skips external
// tools, whose endpoints do not count from the same moment.
func checkReceived(at string, from, to traffic.Report) error {
	if from.Tool != nil || to.Tool != nil {
		return nil
	}
	if from.Datagrams != nil && to.Datagrams != nil {
		sent, got, late := from.Datagrams.Total(), to.Datagrams.Total(), traffic.Count(to.Datagrams.Late)
		if got.Received > sent.Sent || got.ReceivedCounted+late > sent.SentCounted && sent.SentCounted > 0 {
			return fmt.Errorf("impossible values: %d datagrams sent and %d received by the %s, in the timed window %d and %d with %d late",
				sent.Sent, got.Received, at, sent.SentCounted, got.ReceivedCounted, late)
		}
		return nil
	}
	// Content is known where proxies write messages again and may add header fields.
	if got := cmp.Or(to.Content, to.Received); got > from.Sent {
		return fmt.Errorf("impossible values: %d bytes sent and %d received by the %s", from.Sent, got, at)
	}
	return nil
}

// checkWindow reports an error if the timed window of an endpoint has more traffic than
// its whole trial, which is the amount that the path's counters are checked against.
func checkWindow(at string, r traffic.Report) error {
	w := r.Window
	if w.Received > r.Received || w.Sent > r.Sent || w.Messages > r.Messages && r.Messages > 0 {
		return fmt.Errorf("impossible values: within its timed window the %s sent %d bytes and received %d in %d messages, and in the whole trial %d, %d and %d",
			at, w.Sent, w.Received, w.Messages, r.Sent, r.Received, r.Messages)
	}
	for i, v := range w.Series {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("impossible values: interval %d of the %s's series is %g", i+1, at, v)
		}
	}
	return nil
}

// checkTraffic reports a timed window without traffic in a trial that had some. This is
// not a rate of 0: the machine did not schedule the endpoints, or the window is too short
// for the path. All datagrams may be lost, but some must have been sent.
func checkTraffic(p traffic.Params, metrics map[string]float64, client, server traffic.Report) error {
	what := ""
	zero := func(name string) bool { v, ok := metrics[name]; return ok && v == 0 }
	switch {
	case client.Datagrams != nil || server.Datagrams != nil:
		for _, w := range directions(p, client, server) {
			if all := w.from.Datagrams.Total(); all.Sent > 0 && all.SentCounted == 0 {
				what = "no datagram sent by the " + w.sender
			}
		}
	case zero("goodput"), zero("goodput_forward"), zero("goodput_reverse"):
		what = "no payload received"
		if zero("goodput_forward") != zero("goodput_reverse") {
			what += map[bool]string{true: " by the server", false: " by the client"}[zero("goodput_forward")]
		}
	case zero("transaction_rate"), zero("connection_rate"):
		what = "no exchange completed"
	}
	if what == "" {
		return nil
	}
	return &driver.AdviceError{
		Err:    fmt.Errorf("%s within the timed window of %s, although %d bytes were sent and %d received in the trial", what, p.Duration.Round(time.Millisecond), client.Sent+server.Sent, client.Received+server.Received),
		Advice: "the machine did not schedule the endpoints, or the window is too short for the path: stop other programs, or set a longer duration",
	}
}

// timeSlack and timeSlackShare bound how far the clocks of two machines may diverge
// during a trial: a share of the time plus a constant.
const (
	timeSlackShare = 0.01
	timeSlack      = 50 * time.Millisecond
)

// checkElapsed reports an endpoint that counted for longer than the trial took by this
// machine's clock, such as a tool with an inexact clock.
func checkElapsed(took time.Duration, client, server traffic.Report) error {
	most := took.Seconds()*(1+timeSlackShare) + timeSlack.Seconds()
	for _, end := range []struct {
		at      string
		seconds float64
	}{{"client", client.Window.Seconds}, {"client", client.Traffic}, {"server", server.Window.Seconds}} { // the server's clock continues during the slices of other modes
		if end.seconds > most {
			return fmt.Errorf("impossible values: the %s counted for %.3g s, but the whole trial took %.3g s", end.at, end.seconds, took.Seconds())
		}
	}
	return nil
}

// The minimum headers of each packet, in bytes: Ethernet's, which a token bucket counts,
// and those within the MTU.
const (
	frameHeader = 14
	tcpHeaders  = 20 + 20
	udpHeaders  = 20 + 8
)

// checkSearchRate reports a search result above the rate of the underlay, even with all
// that its token bucket and its queue can absorb in the shortest step.
func checkSearchRate(in study.Lab, t result.Trial) error {
	if in.Rate == 0 || t.Counters["a/"+underlayDevice+".tx_bytes"]+t.Counters["a/"+underlayDevice+".rx_bytes"] == 0 {
		return nil
	}
	shortest := math.Inf(1)
	for _, s := range t.Steps {
		shortest = min(shortest, s.Duration)
	}
	burst, queue := linuxnet.Bucket(uint64(in.Rate), in.MTU)
	most := float64(in.Rate)*(1+rateSlack) + float64(burst+queue)*8/shortest
	for name, v := range t.Metrics {
		if strings.HasPrefix(name, "throughput") && v > most {
			return fmt.Errorf("impossible values: %s is %.4g bit/s, but the underlay carries %.4g", name, v, float64(in.Rate))
		}
	}
	return nil
}

// rateSlack is the share by which a token bucket may be inexact, because of its clock and
// of packet headers that it counts once for several packets.
const rateSlack = 0.02

// autoBuffer is more than the size to which kernels let a socket's buffer grow
// automatically.
const autoBuffer = 32 << 20

// checkRate reports that more was received within the timed window than a lab's underlay
// with the given rate in bit/s can have carried in each direction. The limit is its rate,
// plus one bucketful for each transfer, plus what had arrived before the window opened or
// was still queued when it closed. The counters in moved show whether the underlay is on
// the path at all.
func checkRate(in study.Lab, pairs int, p traffic.Params, moved driver.Counters, client, server traffic.Report) error {
	if in.Rate == 0 {
		return nil
	}
	burst, queue := linuxnet.Bucket(uint64(in.Rate), in.MTU)
	transfers, warm := 1.0, p.Warmup
	if p.Slice > 0 {
		transfers, warm = float64(max(1, p.Rounds)), p.Slice/traffic.SliceWarmup
	}
	for _, w := range directions(p, client, server) {
		got, crossed := w.to.Window, float64(moved[w.underlay()])
		if got.Seconds <= 0 || crossed < float64(w.to.Received)/2 {
			continue // it uses another path
		}
		buffers := float64(autoBuffer)
		if n := p.ReceiveBuffer.Socket(); n >= 0 {
			buffers = float64(max(w.to.ReceiveBuffer, 2*n))
		}
		buffers *= float64(max(1, p.Streams) * pairs)
		headers, beside := udpHeaders, float64(burst+queue)+buffers
		if w.to.Datagrams == nil {
			headers = tcpHeaders
		}
		carries := float64(in.Rate) / 8 * float64(in.MTU-headers) / float64(in.MTU+frameHeader) * (1 + rateSlack)
		if w.to.Datagrams == nil { // counted when it is read: what waited when the window opened arrived in the warm-up
			beside = float64(burst) + min(buffers, carries*warm.Seconds()+float64(burst))
		}
		if most := carries*got.Seconds + transfers*beside; float64(got.Received) > most {
			return fmt.Errorf("impossible values: %d bytes received within %.3g s are %.4g bit/s, but the underlay carries %.4g",
				got.Received, got.Seconds, float64(got.Received)*8/got.Seconds, carries*8)
		}
	}
	return nil
}

// underlay is the name of the counter of what a lab's underlay carried in this direction.
func (w direction) underlay() string {
	if w.sender == "client" {
		return "a/" + underlayDevice + ".tx_bytes"
	}
	return "a/" + underlayDevice + ".rx_bytes"
}
