package tool

import (
	"fmt"

	"tare/internal/study"
)

// Lack is a value of a workload's parameter that no tool supports.
type Lack struct {
	Key, Value string // Value is Markdown
	Unset      bool   // a study cannot set the parameter with a tool
	Fatal      bool   // a trial with it fails; others ignore it, with a note

	has  func(j job) bool // whether a job has such a value
	text func(j job) string
}

// Lacks lists the parameters that tools do not support, or not with every value. What one tool lacks
// is in its command lines and in [Tool].Directions.
func Lacks() []Lack {
	return []Lack{
		{Key: "offload", Value: "`on`", Fatal: true, has: func(j job) bool { return j.Offload == study.On }, text: func(job) string {
			return "UDP offload is supported by the built-in generator only; set offload to off"
		}},
		{Key: "send_buffer", Value: "another size than `receive_buffer`, if neither is `auto`", Fatal: true, has: func(j job) bool {
			return j.SendBuffer.Bytes > 0 && j.ReceiveBuffer.Bytes > 0 && j.SendBuffer.Bytes != j.ReceiveBuffer.Bytes
		}, text: func(j job) string {
			return fmt.Sprintf("it sets both buffers to one size; set send_buffer and receive_buffer to the same value, not %d and %d", j.SendBuffer.Bytes, j.ReceiveBuffer.Bytes)
		}},
		{Key: "burst", Value: "more than 1", has: func(j job) bool { return j.Burst > 1 }, text: func(j job) string {
			return fmt.Sprintf("%s does not support a limit on bursts, so burst %d is ignored", j.Tool, j.Burst)
		}},
		{Key: "wait", Value: "`spin`", Unset: true, has: func(j job) bool { return j.Spins() }, text: func(j job) string {
			return j.Tool + " waits for its schedule in its own way, so wait spin is ignored"
		}},
		{Key: "scheduling", Value: "`fifo`", Unset: true, has: func(j job) bool { return j.RealTime() }, text: func(j job) string {
			return j.Tool + " runs without real-time priority, so scheduling fifo is ignored"
		}},
		{Key: "with_load", Value: "`tcp_stream`", Unset: true, has: func(j job) bool { return j.WithLoad != "" }, text: func(j job) string {
			return j.Tool + " does not begin with the load, so what with_load measures is not known"
		}},
	}
}

// BuiltInOnly lists the parameters that a study cannot set with a tool.
func BuiltInOnly() (keys []string) {
	for _, l := range Lacks() {
		if l.Unset {
			keys = append(keys, l.Key)
		}
	}
	return keys
}
