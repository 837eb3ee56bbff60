package runner

import (
	"math"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
)

// Impossible results are refused; each of these would be recorded otherwise.
func TestImpossibleFigures(t *testing.T) {
	fine := traffic.Report{End: result.End{Sent: 100, Received: 100}, Messages: 9, Window: traffic.Window{Sent: 100, Received: 100, Messages: 9, Series: []float64{0, 1}}}
	with := func(change func(*traffic.Report)) traffic.Report { r := fine; change(&r); return r }
	for name, c := range map[string]struct {
		metrics map[string]float64
		client  traffic.Report
		want    string
	}{
		"fine":                   {map[string]float64{"goodput": 5, "rtt_p50": 1e-6, "delay_variation_p50": 0}, fine, ""},
		"infinite":               {map[string]float64{"goodput": math.Inf(1)}, fine, "goodput is +Inf"},
		"negative":               {map[string]float64{"retransmits": -1}, fine, "retransmits is -1"},
		"no round trip":          {map[string]float64{"rtt_p50": 0}, fine, "rtt_p50 is 0"},
		"no delay":               {map[string]float64{"delay_p99": 0}, fine, "delay_p99 is 0"},
		"a fairness above 1":     {map[string]float64{"fairness": 1.01}, fine, "fairness is 1.01, above 1"},
		"more than sent":         {nil, with(func(r *traffic.Report) { r.Received = 101 }), "100 bytes sent and 101 received by the client"},
		"with further heads":     {nil, with(func(r *traffic.Report) { r.Received, r.Content = 140, 60 }), ""},
		"more content than sent": {nil, with(func(r *traffic.Report) { r.Received, r.Content = 140, 101 }), "100 bytes sent and 101 received by the client"},
		"a window beyond all":    {nil, with(func(r *traffic.Report) { r.Window.Received = 101 }), "the client sent 100 bytes and received 101"},
		"sent beyond all":        {nil, with(func(r *traffic.Report) { r.Window.Sent = 101 }), "the client sent 101 bytes"},
		"messages beyond all":    {nil, with(func(r *traffic.Report) { r.Window.Messages = 10 }), "in 10 messages"},
		"a series below 0":       {nil, with(func(r *traffic.Report) { r.Window.Series = []float64{1, -1} }), "interval 2 of the client's series is -1"},
		"a series of no numbers": {nil, with(func(r *traffic.Report) { r.Window.Series = []float64{zero() / zero()} }), "interval 1"},
	} {
		checkError(t, name, checkMetrics(c.metrics, c.client, fine), c.want)
	}
}

// A window without traffic is no rate of 0.
func TestNothingInTheWindow(t *testing.T) {
	p := traffic.Params{Duration: time.Second}
	sent, got := traffic.Report{End: result.End{Sent: 100}}, traffic.Report{End: result.End{Received: 100}}
	udp := func(sent, counted int64) traffic.Report {
		return traffic.Report{Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: sent, SentCounted: counted}}}}
	}
	taken := traffic.Report{Datagrams: &traffic.Datagrams{}}
	for name, c := range map[string]struct {
		metrics        map[string]float64
		client, server traffic.Report
		want           string
	}{
		"goodput":          {map[string]float64{"goodput": 0}, sent, got, "no payload received within the timed window of 1s, although 100 bytes were sent and 100 received in the trial"},
		"some":             {map[string]float64{"goodput": 1}, sent, got, ""},
		"one way of two":   {map[string]float64{"goodput": 5, "goodput_forward": 5, "goodput_reverse": 0}, sent, got, "no payload received by the client within"},
		"exchanges":        {map[string]float64{"transaction_rate": 0}, sent, got, "no exchange completed within"},
		"connections":      {map[string]float64{"connection_rate": 0}, sent, got, "no exchange completed within"},
		"all lost":         {map[string]float64{"goodput": 0, "loss_ratio": 1}, udp(9, 5), taken, ""},
		"no datagram sent": {map[string]float64{"goodput": 0}, udp(9, 0), taken, "no datagram sent by the client within"},
	} {
		checkError(t, name, checkTraffic(p, c.metrics, c.client, c.server), c.want)
	}
}

// No endpoint counts for longer than the trial took.
func TestLongerThanTheTrial(t *testing.T) {
	of := func(window, flowing float64) traffic.Report {
		return traffic.Report{Traffic: flowing, Window: traffic.Window{Seconds: window}}
	}
	checkError(t, "as long", checkElapsed(10*time.Second, of(10.1, 10.1), of(10, 50)), "")
	checkError(t, "a window", checkElapsed(10*time.Second, of(10, 10), of(10.2, 0)), "the server counted for 10.2 s, but the whole trial took 10 s")
	checkError(t, "traffic", checkElapsed(time.Second, of(1, 2), of(1, 1)), "the client counted for 2 s")
}

// More than the underlay carries is refused, with tolerance for a bucket, a queue and
// buffers, but only if the path uses the underlay.
func TestTooFast(t *testing.T) {
	// 1.25 MB/s of frames are 1.2 MB/s of TCP payload.
	const rate, perSecond = 10_000_000, 1.25e6 * 1460 / 1514
	in := study.Lab{Rate: rate, MTU: 1500}
	got := func(seconds, bytes float64) traffic.Report {
		return traffic.Report{End: result.End{Received: int64(bytes)}, Window: traffic.Window{Seconds: seconds, Received: int64(bytes)}}
	}
	udp := func(seconds, bytes float64) traffic.Report {
		r := got(seconds, bytes)
		r.Datagrams = &traffic.Datagrams{}
		return r
	}
	crossed := driver.Counters{"a/eth0.tx_bytes": 1 << 40, "a/eth0.rx_bytes": 1 << 40}
	p := traffic.Params{Workload: study.Workload{Streams: 1, ReceiveBuffer: quantity.Buffer(32 << 10)}, Warmup: time.Second}
	sliced := traffic.Params{Workload: study.Workload{Streams: 1, ReceiveBuffer: quantity.Buffer(1 << 20)}, Slice: 125 * time.Millisecond, Rounds: 40, Warmup: time.Minute}
	for name, c := range map[string]struct {
		in    study.Lab
		p     traffic.Params
		moved driver.Counters
		at    traffic.Report // the server, or both
		both  bool
		want  string
	}{
		"the rate":                        {in, p, crossed, got(10, 10*perSecond), false, ""},
		"with a bucket and a buffer":      {in, p, crossed, got(1, perSecond+120e3), false, ""},
		"faster":                          {in, p, crossed, got(10, 10.5*perSecond), false, "but the underlay carries"},
		"much faster, for a moment":       {in, p, crossed, got(0.1, perSecond), false, "are 9.643e+07 bit/s, but the underlay carries 9.836e+06"},
		"no limit":                        {study.Lab{MTU: 1500}, p, crossed, got(10, 1e12), false, ""},
		"another way":                     {in, p, driver.Counters{"a/eth0.tx_bytes": 2000}, got(10, 1e9), false, ""},
		"each way has the rate":           {in, p, crossed, got(10, 10*perSecond), true, ""},
		"one way faster":                  {in, p, crossed, got(10, 11*perSecond), true, "but the underlay carries"},
		"slices":                          {in, sliced, crossed, got(4, 5*perSecond), false, ""},
		"slices, faster":                  {in, sliced, crossed, got(4, 12*perSecond), false, "but the underlay carries"},
		"datagrams still in a queue":      {in, p, crossed, udp(1, perSecond+190e3), false, ""},
		"datagrams beyond queue and rate": {in, p, crossed, udp(1, perSecond+500e3), false, "but the underlay carries"},
	} {
		client := traffic.Report{}
		if c.both {
			c.p.Direction = study.Both
			client = c.at
		}
		checkError(t, name, checkRate(c.in, 1, c.p, c.moved, client, c.at), c.want)
	}
	trial := result.Trial{Counters: crossed, Steps: []result.Step{{Duration: 10}}, Metrics: map[string]float64{"throughput_0": 10.1e6, "goodput": 1e12}}
	checkError(t, "a search", checkSearchRate(in, trial), "")
	trial.Metrics["throughput_1"] = 11e6
	checkError(t, "a search that found more", checkSearchRate(in, trial), "throughput_1 is 1.1e+07 bit/s, but the underlay carries 1e+07")
	trial.Steps = append(trial.Steps, result.Step{Duration: 0.2})
	checkError(t, "by short steps", checkSearchRate(in, trial), "")
	trial.Counters = driver.Counters{}
	trial.Metrics["throughput_1"] = 1e12
	checkError(t, "elsewhere", checkSearchRate(in, trial), "")
}
