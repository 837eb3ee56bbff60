package result

import (
	"strconv"
	"strings"
)

// Direction is the direction in which a metric is better.
type Direction string

// The two directions.
const (
	Higher Direction = "higher"
	Lower  Direction = "lower"
)

// Metric describes one metric of a workload.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"` // base unit: bit/s, s, 1/s, segments, s/Gbit (CPU seconds), CPUs
	Better Direction `json:"better"`
	Title  string    `json:"title"`
	// Primary marks the metric that represents its workload where only one fits.
	Primary bool `json:"primary,omitempty"`
	// Detail marks a metric that a terminal omits: the full reports contain it. A count
	// of problems is always shown if it is not 0.
	Detail bool `json:"detail,omitempty"`
}

// The CPU metrics. Costs are CPU seconds of whole machines, minus their idle use, per
// unit of traffic in the same period. The others are the mean number of busy CPUs: of the
// one machine on which both endpoints run, or of each of two.
const (
	CPUCost             = "cpu_cost"
	CPUCostTransactions = "cpu_cost_transactions"
	CPUCostConnections  = "cpu_cost_connections"
	CPUMachine          = "cpu_machine"
	CPUSender           = "cpu_sender"
	CPUReceiver         = "cpu_receiver"
)

// Memory is the resident memory of the processes of a mode at the end of a trial, without the generator: proxies, tunnels in user
// space, the programs of an engine. Unknown for a mode that has none.
const Memory = "memory"

// LoadGoodput is the goodput of the load beside a workload that has one (study.Workload.WithLoad), in its timed window.
const LoadGoodput = "load_goodput"

// The times of a set-up, which docs/workloads/setup.md defines.
const (
	SetupSandbox   = "setup_sandbox"
	SetupConnect   = "setup_connect"
	SetupFirstByte = "setup_first_byte"
	SetupFirst200  = "setup_first_200"
	SetupOwn       = "setup_own"
)

// The metrics of a trial with an event (study.Workload.Event). LongestGap is the longest time without an answer that ended after the event began,
// Recovery the time from the event until the old rate was back, and ConnectionsLost the connections that ended and that the client did not end.
const (
	LongestGap      = "longest_gap"
	Recovery        = "recovery_time"
	ConnectionsLost = "connections_lost"
)

// Metrics lists every metric in the order of reports. Names are those of RFC 2647
// (goodput) and of netperf's request/response workloads.
func Metrics() []Metric {
	return []Metric{
		{"goodput", "bit/s", Higher, "Goodput", true, false},
		search("throughput_0"),
		search("throughput_1"),
		{"goodput_forward", "bit/s", Higher, "Goodput, client to server", false, false},
		{"goodput_reverse", "bit/s", Higher, "Goodput, server to client", false, false},
		{"send_rate", "bit/s", Higher, "Send rate", false, true},
		{"packet_rate", "1/s", Higher, "Packet rate", false, true},
		{"fairness", "ratio", Higher, "Fairness between streams", false, false},
		{"offered_load", "bit/s", Higher, "Offered load reached", false, true},
		{"loss_ratio", "ratio", Lower, "Loss ratio", false, false},
		{"reordered_ratio", "ratio", Lower, "Reordered", false, true},
		{"duplicates", "datagrams", Lower, "Duplicates", false, true},
		{"late", "datagrams", Lower, "Late", false, true},
		{"retransmits", "segments", Lower, "Retransmits", false, false},
		{"transaction_rate", "1/s", Higher, "Transaction rate", true, false},
		{"connection_rate", "1/s", Higher, "Connection rate", true, false},
		{"rtt_p50", "s", Lower, "Round trip, median", false, false},
		{"rtt_p90", "s", Lower, "Round trip, 90th percentile", false, true},
		{"rtt_p99", "s", Lower, "Round trip, 99th percentile", false, false},
		{"rtt_p999", "s", Lower, "Round trip, 99.9th percentile", false, false},
		{"rtt_p9999", "s", Lower, "Round trip, 99.99th percentile", false, true},
		{"rtt_max", "s", Lower, "Round trip, longest", false, true},
		{"connect_p50", "s", Lower, "Time to connect, median", false, false},
		{"connect_p99", "s", Lower, "Time to connect, 99th percentile", false, true},
		{"first_byte_p50", "s", Lower, "Time to first byte, median", false, false},
		{"first_byte_p99", "s", Lower, "Time to first byte, 99th percentile", false, true},
		{"delay_p50", "s", Lower, "One-way delay, median", false, false},
		{"delay_p99", "s", Lower, "One-way delay, 99th percentile", false, false},
		{"delay_p999", "s", Lower, "One-way delay, 99.9th percentile", false, true},
		{"delay_variation_p50", "s", Lower, "Delay variation, median", false, true},
		{"delay_variation_p99", "s", Lower, "Delay variation, 99th percentile", false, false},
		// docs/cpu-cost.md defines them and says how they are measured.
		{CPUCost, "s/Gbit", Lower, "CPU cost", false, false},
		{CPUCostTransactions, "s/1000 transactions", Lower, "CPU cost", false, false},
		{CPUCostConnections, "s/1000 connections", Lower, "CPU cost", false, false},
		{CPUMachine, "CPUs", Lower, "CPUs busy", false, true},
		{CPUSender, "CPUs", Lower, "CPUs busy at the sender", false, true},
		{CPUReceiver, "CPUs", Lower, "CPUs busy at the receiver", false, true},
		{Memory, "B", Lower, "Memory of the mode's processes", false, true},
		{LoadGoodput, "bit/s", Higher, "Goodput of the load beside it", false, false},
		{SetupFirstByte, "s", Lower, "Set-up until the first answer", true, false},
		{SetupFirst200, "s", Lower, "Set-up until the first response 200", false, false},
		{SetupConnect, "s", Lower, "Set-up until the first SYN is answered", false, false},
		{SetupSandbox, "s", Lower, "Set-up until the sandbox exists", false, false},
		{SetupOwn, "s", Lower, "Set-up, tare's own part", false, true},
		{LongestGap, "s", Lower, "Longest gap", true, false},
		{Recovery, "s", Lower, "Time until the old rate", false, false},
		{ConnectionsLost, "connections", Lower, "Connections lost", false, false},
	}
}

// Percentiles are the metrics of a trial that are quantiles of its times of one kind, of rtt, connect, first_byte, delay or
// delay_variation: each with its quantile, such as 0.99, or 1 for the longest time.
func Percentiles(times string) map[string]float64 {
	found := map[string]float64{}
	for _, m := range Metrics() {
		if of, q := quantile(m.Name); of == times && (q <= mostOfTrial || q == 1) {
			found[m.Name] = q
		}
	}
	return found
}

// mostOfTrial is the last percentile that a trial has, without its longest time: further ones are of the tail pass.
const mostOfTrial = 0.999

// BeyondP99 is the quantile of a metric that is a percentile beyond the 99th; ok is false for any other. Such a percentile is
// compared only where requests had a schedule: a closed loop sends none while an answer is late.
func BeyondP99(metric string) (q float64, ok bool) {
	if _, q := quantile(metric); q > 0.99 && q < 1 {
		return q, true
	}
	return 0, false
}

// quantile splits the name of a metric that is a quantile of times: rtt_p99 into rtt and 0.99, rtt_max into rtt and 1. Others have neither.
func quantile(metric string) (times string, q float64) {
	at := strings.LastIndexByte(metric, '_')
	if at < 0 {
		return "", 0
	}
	if metric[at+1:] == "max" {
		return metric[:at], 1
	}
	digits, ok := strings.CutPrefix(metric[at+1:], "p")
	q, err := strconv.ParseFloat("0."+digits, 64)
	if !ok || err != nil {
		return "", 0
	}
	return metric[:at], q
}

// RestatedAs is the metric that another one states in other units, trial for trial, so that its ratios and verdicts are those of
// that metric and no further evidence; ok is false for any other.
func RestatedAs(metric string) (of string, ok bool) {
	if metric == "packet_rate" { // goodput / (8 payload_size)
		return "goodput", true
	}
	return "", false
}

// MetricNamed finds a metric by name, including those of a rate search with any loss
// goal.
func MetricNamed(name string) (Metric, bool) {
	for _, m := range Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return throughput(name)
}

// search is a metric of a rate search that is always listed.
func search(name string) Metric {
	m, _ := throughput(name)
	return m
}
