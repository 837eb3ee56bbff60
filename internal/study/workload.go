package study

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/study/quantity"
)

// Workload is one traffic pattern with its parameters, in a study and on the way to the
// endpoints of a trial, which receive only the keys that are set. The Catalog defines
// which parameters a kind takes; Resolve fills those in and leaves the others zero.
type Workload struct {
	ID, Kind, Tool, VerifyWith                        string              `json:",omitzero"`
	Pairs, FanIn, Streams, Flows, Threads             int                 `json:",omitzero"`
	StreamCounts, FlowCounts                          Counts              `json:",omitzero"` // a list in place of Streams or Flows
	WriteSize, PayloadSize, RequestSize, ResponseSize quantity.Size       `json:",omitzero"`
	Rate                                              quantity.Load       `json:",omitzero"`
	PacketRate                                        int                 `json:",omitzero"`
	Rates                                             quantity.Rates      `json:",omitzero"`
	LossGoals                                         quantity.LossGoals  `json:",omitzero"`
	Goal                                              string              `json:",omitzero"`
	ExceedRatio                                       quantity.Portion    `json:",omitzero"`
	Step, StepSum                                     quantity.Duration   `json:",omitzero"`
	Precision                                         float64             `json:",omitzero"`
	Pause                                             quantity.Wait       `json:",omitzero"`
	MinRate, MaxRate                                  quantity.Rate       `json:",omitzero"`
	MaxSearch                                         quantity.Duration   `json:",omitzero"`
	TransactionRate, Burst                            int                 `json:",omitzero"`
	Wait, Scheduling                                  string              `json:",omitzero"`
	Offload, Fragment, Close, KeepAlive               string              `json:",omitzero"`
	TLS, Resumption, Streaming, ResponseMix           string              `json:",omitzero"`
	Pipeline, Messages                                int                 `json:",omitzero"`
	WithLoad                                          string              `json:",omitzero"`
	Event                                             string              `json:",omitzero"`
	NoDelay                                           *bool               `json:",omitzero"`
	Direction, Family, Congestion                     string              `json:",omitzero"`
	SendBuffer, ReceiveBuffer                         quantity.BufferSize `json:",omitzero"`
	Placement                                         string              `json:",omitzero"`
	Slice                                             quantity.Duration   `json:",omitzero"`
	Every, Times                                      int                 `json:",omitzero"`
	Warmup                                            quantity.Wait       `json:",omitzero"`
	Duration, DurationMin, DurationMax                quantity.Duration   `json:",omitzero"`
}

// mostPairs is the maximum of pairs, as driver.ManyPairs; many modes have a lower limit.
const mostPairs = 200

// mostStreams is the maximum of streams, and of flows where the workload has no other, and mostFlows
// that of a workload that can have more.
const (
	mostStreams = 1000
	mostFlows   = 10000
)

// MostTLSFlows is the maximum of flows in TLS: each needs a thread at both endpoints, and with more of them some would have
// most of the exchanges.
const MostTLSFlows = 64

// MostPipeline is the maximum of requests in progress on a connection, and mostInProgress that of their bytes, and of those of their responses.
const (
	MostPipeline   = 1000
	mostInProgress = 1 << 30
)

// StreamedMessages is how many messages a call is answered with if the server streams and the workload does not say.
const StreamedMessages = 100

// Fields declares the keys of a workload and their rules.
func (w *Workload) Fields() []Field {
	return []Field{
		key("id", idText(&w.ID), "name in results; the workload's own when absent"),
		required("workload", nameOf(&w.Kind), "which workload"),
		key("tool", choice(&w.Tool, append([]string{BuiltIn}, externals()...)...), "traffic generator: tare itself, or an installed external generator"),
		key("verify_with", choice(&w.VerifyWith, externals()...), "measure with this external generator, too, and report whether the two agree"),
		key("pairs", count(&w.Pairs, 1, mostPairs), "pairs of endpoints that run at the same time, each in its own sandboxes; more than 100 in some modes only"),
		key("fan_in", count(&w.FanIn, 1, mostPairs), "clients of one server, each with the flows and the schedule of the workload, in a sandbox of its own where the mode has them; more than 100 in some modes only; 1 when absent"),
		key("streams", counts(&w.Streams, &w.StreamCounts, mostStreams), "parallel connections; in http2 and grpc requests at once on each connection; a list makes each number a separate workload"),
		key("flows", counts(&w.Flows, &w.FlowCounts, mostFlows), "parallel flows, each with its own pair of addresses; a list makes each number a separate workload"),
		key("threads", count(&w.Threads, 1, 1000), "threads for the streams at each endpoint; one per stream when absent"),
		key("write_size", size(&w.WriteSize, 1, 16<<20), "bytes per write call, such as 128KiB"),
		key("payload_size", size(&w.PayloadSize, 36, 65507), "payload of one datagram in bytes"),
		key("request_size", size(&w.RequestSize, 1, 16<<20), "bytes of a request; in http and http2 of its body, and a GET without one when absent; in grpc of its message"),
		key("response_size", size(&w.ResponseSize, 1, 16<<20), "bytes of a response; in http and http2 of its body, in grpc of its message"),
		key("rate", load(&w.Rate), "offered payload of all streams together, such as 1Gbit/s, or unlimited"),
		key("packet_rate", count(&w.PacketRate, 1, 100e6), "offered datagrams per second of all flows together; replaces rate"),
		key("rates", ratesOf(&w.Rates), "loads of the sweep, each a separate workload: a list, or from, to and steps of a range"),
		key("loss_goals", lossGoals(&w.LossGoals), "loss ratios to search the highest rate for, such as [0, 0.01]; all in one search"),
		key("goal", choice(&w.Goal, Goals()...), "when a rate meets the loss goal: median (most steps do), strict (every step does), both, or rfc2544 (every step of a minute does)"),
		key("exceed_ratio", portion(&w.ExceedRatio, 0.9), "maximum share of the steps' time that may exceed the loss goal"),
		key("step", duration(&w.Step, 100*time.Millisecond, 10*time.Minute), "sending time of a search step"),
		key("step_sum", duration(&w.StepSum, 100*time.Millisecond, time.Hour), "time of steps that decide on a load; at least three steps"),
		key("precision", fraction(&w.Precision, 0.001, 0.2), "relative distance of the bounds at which a search ends"),
		key("pause", wait(&w.Pause, time.Minute), "time without traffic before each step of a search, for the queues to drain"),
		key("min_rate", rate(&w.MinRate, leastSought), "minimum load of a search, payload"),
		key("max_rate", rate(&w.MaxRate, leastSought), "maximum load of a search, payload; the load of the first step"),
		key("max_search", duration(&w.MaxSearch, time.Second, 24*time.Hour), "maximum time of the steps of a search; it then ends with its current bounds"),
		key("transaction_rate", count(&w.TransactionRate, 1, 10e6), "transactions per second on a fixed schedule (open loop); as fast as possible when absent (closed loop)"),
		key("burst", count(&w.Burst, 1, 1024), "maximum number of datagrams sent back to back to catch up with the schedule"),
		key("wait", choice(&w.Wait, Sleep, Spin), "how a sender with a schedule waits for its next slot: sleep, or spin (polls the clock, which takes a whole CPU); sleep when absent"),
		key("scheduling", choice(&w.Scheduling, OtherScheduling, FIFOScheduling), "scheduling of the threads of both endpoints of a workload with a schedule: other, or fifo (SCHED_FIFO, real-time priority); other when absent"),
		key("offload", choice(&w.Offload, On, Off), "UDP segmentation and receive offload, on or off: on sends super-packets over the path"),
		key("fragment", choice(&w.Fragment, On, Off), "on or off: whether IP may fragment what exceeds the path MTU"),
		key("close", choice(&w.Close, FIN, RST), "how a connection ends: fin (orderly) or rst (reset)"),
		key("keep_alive", choice(&w.KeepAlive, On, Off), "on: the requests of a flow share a connection; off: each has one of its own"),
		key("tls", choice(&w.TLS, Off, On), "on: the connections are in TLS 1.3; off when absent"),
		key("resumption", choice(&w.Resumption, Off, On), "on: with tls and keep_alive off, a connection resumes the TLS session of one before; off when absent"),
		key("streaming", choice(&w.Streaming, Off, Bidi, ServerStreams), "bidi: each of the streams is one call that goes on, and a transaction a message with its answer; server: each call is answered with many messages; off when absent: with one"),
		key("response_mix", text(&w.ResponseMix, `^[0-9]+x[0-9]+[KMGi]*B?(,[0-9]+x[0-9]+[KMGi]*B?)+$`, "weights and sizes, such as 9x1KiB,1x1MiB", 0), "sizes of responses by their weights, such as 9x1KiB,1x1MiB: nine of ten have 1 KiB; replaces response_size"),
		key("pipeline", count(&w.Pipeline, 1, MostPipeline), "requests in progress on each connection: each response is followed by the next request, without a wait for the others; 1 when absent"),
		key("messages", count(&w.Messages, 1, 10000), fmt.Sprintf("messages that a call is answered with, with streaming: server; %d when absent", StreamedMessages)),
		key("with_load", choice(&w.WithLoad, TCPLoad), "traffic beside the exchanges, from another client to another server of the mode: tcp_stream, one stream as fast as the path carries it; none when absent"),
		key("event", text(&w.Event, `^[a-z][a-z0-9_]{0,31}$`, "the name of an event, such as link_down", 0), "what happens in the middle of the timed window of each trial: an event that a mode of the study has, such as link_down; nothing when absent"),
		key("no_delay", perhaps(&w.NoDelay), "disable Nagle's algorithm"),
		key("direction", choice(&w.Direction, Forward, Reverse, Both), "forward: the client sends; reverse: the server sends; both: both at once"),
		key("family", choice(&w.Family, IPv4, IPv6), "ipv4 or ipv6"),
		key("congestion_control", text(&w.Congestion, `^[a-z0-9_]{1,15}$`, "a name of at most 15 lower-case letters, digits or _, such as cubic", 0), "TCP congestion control, set on every socket; auto: cubic if every endpoint may set it, else the default that all have in common, else reno"),
		key("send_buffer", buffer(&w.SendBuffer), "socket send buffer, or auto for the kernel's autotuning"),
		key("receive_buffer", buffer(&w.ReceiveBuffer), "socket receive buffer, or auto for the kernel's autotuning"),
		key("placement", choice(&w.Placement, OneCore, TwoCores, Free), "one_core: both endpoints on one CPU; two_cores: one CPU each; free: the scheduler chooses"),
		key("slice", duration(&w.Slice, 5*time.Millisecond, longestTrial), "slice of a mode before that of the next one; a slice as long as the trial disables interleaving"),
		key("every", count(&w.Every, 1, 1000), "run in every n-th block, from the first on; in each when absent"),
		key("times", count(&w.Times, 1, 1000), "maximum number of blocks with it; unlimited when absent"),
		key("warmup", wait(&w.Warmup, 10*time.Minute), "traffic before the timed window"),
		key("duration", trialLength(&w.Duration), "the timed window"),
		key("duration_min", trialLength(&w.DurationMin), "minimum timed window that the run may choose from its own variance"),
		key("duration_max", trialLength(&w.DurationMax), "maximum timed window that the run may choose"),
	}
}

// Name is the workload's name in results and on the command line: its id, or its kind
// without one.
func (w Workload) Name() string {
	if w.ID != "" {
		return w.ID
	}
	return w.Kind
}

// The values of the enumerated fields.
const (
	Quick    = "quick"
	Standard = "standard"
	Paper    = "paper"

	Forward = "forward"
	Reverse = "reverse"
	Both    = "both"

	IPv4 = "ipv4"
	IPv6 = "ipv6"

	OneCore  = "one_core"
	TwoCores = "two_cores"
	Free     = "free"

	Sleep = "sleep"
	Spin  = "spin"

	OtherScheduling = "other"
	FIFOScheduling  = "fifo"

	On  = "on"
	Off = quantity.Off

	Bidi          = "bidi"
	ServerStreams = "server"

	FIN = "fin"
	RST = "rst"

	BuiltIn = "tare" // the built-in generator

	SetupKind = "setup" // the workload that measures the set-up of modes

	TCPLoad = "tcp_stream" // of with_load

	EndpointReplaced = "endpoint_replaced" // the event whose trials have a second server
)

// DisablesNagle reports whether TCP sends small segments at once.
func (w Workload) DisablesNagle() bool { return w.NoDelay != nil && *w.NoDelay }

// OfServer is how many clients each server of the workload has.
func (w Workload) OfServer() int { return max(1, w.FanIn) }

// Clients is how many clients the workload has at once, each in a pair of endpoints of its own. Without FanIn each has a server of its own, too.
func (w Workload) Clients() int { return max(w.OfServer(), w.Pairs) }

// Endpoints is how many pairs of endpoints the workload has at once, that of its load, or of its second server, included.
func (w Workload) Endpoints() int {
	n := w.Clients()
	if w.WithLoad != "" || w.Event == EndpointReplaced {
		n++
	}
	return n
}

// Servers is how many servers the workload has at once.
func (w Workload) Servers() int {
	if w.FanIn > 1 {
		return 1
	}
	return w.Endpoints()
}

// In reports whether the workload runs in the block of that number, from 1 on.
func (w Workload) In(block int) bool {
	every := max(1, w.Every)
	nth := (block - 1) / every
	return (block-1)%every == 0 && (w.Times == 0 || nth < w.Times)
}

// Blocks is the number of blocks up to last that contain the workload.
func (w Workload) Blocks(last int) int { return turns(last, w.Every, w.Times) }

// turns is how many of so many blocks come every so often and at most so many times, the
// first of them included; 0 times is no limit.
func turns(blocks, every, times int) int {
	n := (max(0, blocks) + max(1, every) - 1) / max(1, every)
	if times > 0 {
		n = min(n, times)
	}
	return n
}

// As returns a workload of the kind of spec, with the values that w sets of the parameters that the kind takes.
func (w Workload) As(spec WorkloadSpec) Workload {
	as := Workload{Kind: spec.Kind}
	to := as.Fields()
	for i, f := range w.Fields() {
		if slices.Contains(spec.Params, f.Key) || slices.Contains(spec.Optional, f.Key) {
			to[i].Value.Set(f.Value)
		}
	}
	return as
}

// Setting is one key of a workload with its value as written in a study file.
type Setting struct{ Key, Value string }

// Settings lists the values that a workload sets, in the order of the file's keys.
func (w Workload) Settings() []Setting {
	var out []Setting
	for _, f := range w.Fields() {
		if !f.Value.IsZero() {
			out = append(out, Setting{f.Key, f.Value.String()})
		}
	}
	return out
}

// externals are the external generators that tare can run.
func externals() []string { return []string{"iperf3", "iperf2", "ntttcp", "wrk", "h2load"} }
