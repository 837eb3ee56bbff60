package judge

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/unit"
)

// trialValue is a value of a trial whose metric, unit and direction are known.
type trialValue struct {
	metric string
	value  float64
	unit   string
}

// trialOf adds the values of a trial of a file, of which those that are not a number are left out. A trial
// that failed has none.
func (b *builder) trialOf(line int, mode, workload string, values []trialValue, failed bool) error {
	mode, named := b.name(line, "mode", mode)
	workload, called := b.name(line, "workload", workload)
	if !named || !called {
		return nil
	}
	r := row{line: int32(line), file: b.files.index(b.file), status: result.TrialOK, block: noBlock, mode: b.modes.index(mode), workload: b.loads.index(workload)}
	if failed {
		r.status = result.TrialFailed
		return b.add(r)
	}
	for _, v := range values {
		if math.IsNaN(v.value) {
			continue
		}
		written, ok := b.name(line, "unit", v.unit)
		if !ok {
			return nil
		}
		at, u, ok := b.metricFor(line, v.metric, written, b.unit(written), "")
		if !ok || !b.value(line, u.In(v.value)) {
			return nil
		}
		r.metric, r.value = at, u.In(v.value)
		if err := b.add(r); err != nil {
			return err
		}
	}
	return nil
}

// iperf3Paths are the places that are read of the output of iperf3 --json.
func iperf3Paths() []string {
	return []string{"event", "schema", "error", "data", "start.test_start.protocol", "start.test_start.num_streams", "start.test_start.reverse", "start.test_start.bidir", "start.test_start.target_bitrate",
		"end.sum_received.bits_per_second", "end.sum_sent.bits_per_second", "end.sum.bits_per_second", "end.sum_received_bidir_reverse.bits_per_second",
		"end.sum_sent.retransmits", "end.sum_received.lost_percent", "end.sum.lost_percent", "end.sum_received.jitter_ms", "end.sum.jitter_ms"}
}

// iperf3 adds the trial of one output of iperf3.
func (r *jsonReader) iperf3(d *document) error {
	mode := r.names.trials[r.builder.file]
	protocol := strings.ToLower(d.text("start.test_start.protocol"))
	if _, jitter := d.number("end.sum.jitter_ms"); protocol == "" && jitter {
		protocol = "udp"
	}
	workload := strings.TrimPrefix(protocol+"_stream", "_")
	if n, ok := d.number("start.test_start.num_streams"); ok && n > 1 {
		workload += fmt.Sprintf(" x%.0f", n)
	}
	if n, _ := d.number("start.test_start.reverse"); n > 0 {
		workload += " reverse"
	}
	if n, _ := d.number("start.test_start.bidir"); n > 0 {
		workload += " bidir"
	}
	if n, ok := d.number("start.test_start.target_bitrate"); ok && n > 0 {
		workload += fmt.Sprintf(" at %g Mbit/s", n/1e6)
	}
	if d.text("error") != "" || d.text("event") == "error" {
		return r.trialOf(r.n, mode, workload, nil, true)
	}
	var values []trialValue
	first := func(metric, unit string, paths ...string) {
		for _, path := range paths {
			if v, ok := d.number(path); ok {
				values = append(values, trialValue{metric, v, unit})
				return
			}
		}
	}
	first("goodput", unit.Bits, "end.sum_received.bits_per_second")
	first("goodput_reverse", unit.Bits, "end.sum_received_bidir_reverse.bits_per_second")
	first("send_rate", unit.Bits, "end.sum_sent.bits_per_second", "end.sum.bits_per_second")
	first("retransmits", "segments", "end.sum_sent.retransmits")
	first("loss_ratio", "%", "end.sum_received.lost_percent", "end.sum.lost_percent")
	first("jitter", "ms", "end.sum_received.jitter_ms", "end.sum.jitter_ms")
	if len(values) == 0 {
		return fmt.Errorf("%s %d is the JSON of iperf3 without a rate: its test did not end", r.nouns[r.file], r.n)
	}
	for _, v := range values {
		if v.metric == "loss_ratio" && v.value > 100 {
			r.addProblem(r.n, "iperf3 says that %g %% was lost, more than was sent", v.value)
			return nil
		}
	}
	return r.trialOf(r.n, mode, workload, values, false)
}

// fortioPaths are the places that are read of the JSON of fortio, beside its percentiles.
func fortioPaths() []string {
	return []string{"RunType", "RequestedQPS", "NumThreads", "ActualQPS", "DurationHistogram.Avg"}
}

// fortio adds the trial of one run of fortio.
func (r *jsonReader) fortio(d *document) error {
	var values []trialValue
	if v, ok := d.number("ActualQPS"); ok {
		values = append(values, trialValue{"request_rate", v, unit.Events})
	}
	if v, ok := d.number("DurationHistogram.Avg"); ok {
		values = append(values, trialValue{"latency_mean", v, unit.Second})
	}
	for _, p := range []float64{50, 75, 90, 99, 99.9} {
		if v, ok := d.percentiles[p]; ok {
			name := "latency_p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "")
			values = append(values, trialValue{name, v, unit.Second})
		}
	}
	workload := cmp.Or(d.text("RunType"), "requests")
	if n, ok := d.number("NumThreads"); ok && n > 1 {
		workload += fmt.Sprintf(" x%.0f", n)
	}
	if rate := d.text("RequestedQPS"); rate != "" && rate != "max" {
		workload += " at " + rate + "/s"
	}
	return r.trialOf(r.n, r.names.trials[r.builder.file], workload, values, false)
}

// k8sPaths are the places that are read of the JSON of k8s-netperf.
func k8sPaths() []string {
	return []string{"hostNetwork", "driver", "parallelism", "profile", "service", "local", "acrossAZ", "messageSize", "throughput", "latency", "tputMetric", "ltcyMetric",
		"tcpRetransmits", "udpLossPercent"}
}

// k8s adds one result of k8s-netperf.
func (r *jsonReader) k8s(d *document) error {
	number := func(path string) float64 {
		if v, ok := d.number(path); ok {
			return v
		}
		return math.NaN()
	}
	k := k8sResult{driver: d.text("driver"), profile: d.text("profile"), size: number("messageSize"), parallel: number("parallelism"),
		host: d.is("hostNetwork"), service: d.is("service"), sameNode: d.is("local"), zones: d.is("acrossAZ"),
		throughput: number("throughput"), throughputUnit: d.text("tputMetric"), latency: number("latency"), latencyUnit: d.text("ltcyMetric"),
		retransmits: number("tcpRetransmits"), lossPercent: number("udpLossPercent")}
	return r.k8sTrial(r.n, k)
}

// k8sResult is a result of k8s-netperf. A number that it does not have is NaN.
type k8sResult struct {
	driver, profile                string
	size, parallel                 float64
	host, service, sameNode, zones bool
	throughput, latency            float64
	throughputUnit, latencyUnit    string
	retransmits, lossPercent       float64
}

// k8sTrial adds a result of k8s-netperf. Its mode is that of its file if the files have several, else the
// network that was measured; then the network is a part of the workload.
func (b *builder) k8sTrial(line int, k k8sResult) error {
	network := "pod"
	switch {
	case k.host:
		network = "host"
	case k.service:
		network = "service"
	}
	workload := strings.TrimSpace(k.driver + " " + k.profile)
	if k.size > 0 {
		workload += fmt.Sprintf(" %.0fB", k.size)
	}
	if k.parallel > 1 {
		workload += fmt.Sprintf(" x%.0f", k.parallel)
	}
	if k.sameNode {
		workload += " same node"
	}
	if k.zones {
		workload += " across zones"
	}
	mode := network
	if b.names.modes > 1 || b.names.given[b.file] {
		mode, workload = b.names.trials[b.file], workload+" "+network
	}
	var values []trialValue
	if k.latency > 0 { // 0 where the driver measures none
		values = append(values, trialValue{"latency_p99", k.latency, cmp.Or(k.latencyUnit, "usec")})
	}
	if u := b.unit(k.throughputUnit); u.Base == unit.Events {
		values = append(values, trialValue{"transaction_rate", k.throughput, k.throughputUnit})
	} else {
		values = append(values, trialValue{"goodput", k.throughput, cmp.Or(k.throughputUnit, "Mb/s")})
	}
	switch {
	case strings.HasPrefix(k.profile, "TCP_STREAM"):
		values = append(values, trialValue{"retransmits", k.retransmits, "segments"})
	case strings.HasPrefix(k.profile, "UDP_STREAM"):
		values = append(values, trialValue{"loss_ratio", k.lossPercent, "%"})
	}
	return b.trialOf(line, mode, workload, values, false)
}
