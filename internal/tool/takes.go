package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/study"
	"tare/internal/traffic"
)

// Lack is a value of a workload's parameter that no tool supports.
type Lack struct {
	Key, Value string   // Value is Markdown
	Tools      []string // that it is about; all if empty
	Refused    bool     // a study that sets it, and a trial with it, is refused; others are ignored, with a note

	has  func(j job) bool // whether a job has such a value
	text func(j job) string
}

// of reports whether the tool of a job does not support what the job has.
func (l Lack) of(j job) bool {
	return (len(l.Tools) == 0 || slices.Contains(l.Tools, j.Tool)) && l.has(j)
}

// Lacks lists the parameters that tools do not support, or not with every value. What one tool lacks
// is in its command lines and in [Tool].Directions.
func Lacks() []Lack {
	asking := []string{wrkName, h2loadName}
	return []Lack{
		{Key: "offload", Value: "`on`", Refused: true, has: func(j job) bool { return j.Offload == study.On }, text: func(job) string {
			return "UDP offload is supported by the built-in generator only; set offload to off"
		}},
		{Key: "burst", Value: "more than 1", has: func(j job) bool { return j.Burst > 1 }, text: func(j job) string {
			return fmt.Sprintf("%s does not support a limit on bursts, so burst %d is ignored", j.Tool, j.Burst)
		}},
		{Key: "wait", Value: "`spin`", Refused: true, has: func(j job) bool { return j.Spins() }, text: func(j job) string {
			return j.Tool + " waits for its schedule in its own way; remove wait"
		}},
		{Key: "scheduling", Value: "`fifo`", Refused: true, has: func(j job) bool { return j.RealTime() }, text: func(j job) string {
			return j.Tool + " runs without real-time priority; remove scheduling"
		}},
		{Key: "with_load", Value: "`tcp_stream`", Refused: true, has: func(j job) bool { return j.WithLoad != "" }, text: func(j job) string {
			return j.Tool + " does not begin with the load; remove with_load"
		}},
		{Key: "fan_in", Value: "more than 1", Refused: true, has: func(j job) bool { return j.FanIn > 1 }, text: func(j job) string {
			return j.Tool + " has one client; remove fan_in"
		}},
		{Key: "transaction_rate", Value: "any", Tools: asking, Refused: true, has: func(j job) bool { return j.TransactionRate > 0 }, text: func(j job) string {
			return j.Tool + " does not measure response times from when a request was due; remove transaction_rate"
		}},
		{Key: "request_size", Value: "any", Tools: asking, Refused: true, has: func(j job) bool { return j.RequestSize > 0 }, text: func(j job) string {
			return j.Tool + " is run for requests without a body only; remove request_size"
		}},
		{Key: "response_mix", Value: "any", Tools: asking, Refused: true, has: func(j job) bool { return j.ResponseMix != "" }, text: func(j job) string {
			return j.Tool + " asks for one size; set response_size instead of response_mix"
		}},
		{Key: "keep_alive", Value: "`off`", Tools: asking, Refused: true, has: func(j job) bool { return j.KeepAlive == study.Off }, text: func(j job) string {
			return j.Tool + " is run for connections that stay open only; set keep_alive to on"
		}},
		{Key: "tls", Value: "`on`", Tools: asking, Refused: true, has: func(j job) bool { return j.TLS == study.On }, text: func(j job) string {
			return j.Tool + " does not check the certificate of the trial; set tls to off"
		}},
		{Key: "send_buffer", Value: "a size", Tools: asking, Refused: true, has: func(j job) bool { return j.SendBuffer.Bytes > 0 }, text: func(j job) string {
			return j.Tool + " sets no socket buffers; set send_buffer to auto"
		}},
		{Key: "send_buffer", Value: "another size than `receive_buffer`, if neither is `auto`", Refused: true, has: func(j job) bool {
			return j.SendBuffer.Bytes > 0 && j.ReceiveBuffer.Bytes > 0 && j.SendBuffer.Bytes != j.ReceiveBuffer.Bytes
		}, text: func(j job) string {
			return fmt.Sprintf("it sets both buffers to one size; set send_buffer and receive_buffer to the same value, not %d and %d", j.SendBuffer.Bytes, j.ReceiveBuffer.Bytes)
		}},
		{Key: "receive_buffer", Value: "a size", Tools: asking, Refused: true, has: func(j job) bool { return j.ReceiveBuffer.Bytes > 0 }, text: func(j job) string {
			return j.Tool + " sets no socket buffers; set receive_buffer to auto"
		}},
		{Key: "congestion_control", Value: "another than the default of the client's kernel", Tools: asking, has: func(j job) bool {
			return j.side == atClient && j.Congestion != "" && j.Congestion != cmp.Or(defaultCongestion(), j.Congestion)
		}, text: func(j job) string {
			return fmt.Sprintf("%s sets no congestion control, so its requests are sent with %s instead of %s; the responses are not", j.Tool, defaultCongestion(), j.Congestion)
		}},
		{Key: "warmup", Value: "any", Tools: []string{wrkName}, has: func(j job) bool { return j.side == atClient && j.Warmup > 0 }, text: func(j job) string {
			return fmt.Sprintf("wrk has no warm-up, so warmup %s is ignored: its rate includes the start of its connections", j.Warmup)
		}},
	}
}

// Problems returns why a tool cannot generate the traffic of a workload: for each key of it that the tool does not
// support, what the tool does instead and what to set. It is empty for a tool that can, and for one that is unknown.
func Problems(name string, w study.Workload) []study.Problem {
	t, err := Named(name)
	if err != nil {
		return nil
	}
	w.Tool = name
	return t.problems(job{Params: traffic.ParamsOf(w)})
}

// problems is Problems for a job. It has at most one problem of each key.
func (t Tool) problems(j job) (out []study.Problem) {
	if d := cmp.Or(j.Direction, study.Forward); !slices.Contains(t.Directions, d) {
		out = append(out, study.Problem{Path: "direction", Text: fmt.Sprintf("it does not support direction %s, only %s", d, strings.Join(t.Directions, ", "))})
	}
	for _, l := range Lacks() {
		if l.Refused && l.of(j) && !slices.ContainsFunc(out, func(p study.Problem) bool { return p.Path == l.Key }) {
			out = append(out, study.Problem{Path: l.Key, Text: l.text(j)})
		}
	}
	return out
}
