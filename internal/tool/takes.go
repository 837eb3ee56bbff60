package tool

import (
	"fmt"

	"tare/internal/study"
)

// lack is a value of a workload's parameter that no tool supports.
type lack struct {
	key   string
	has   func(j job) bool // whether a job has such a value
	text  func(j job) string
	unset bool // a study cannot set the parameter with a tool
	fatal bool // a trial with it fails; others ignore it, with a note
}

// lacks lists the parameters that tools do not support, or not with every value. What one tool lacks
// is in its command lines and in [Tool].Directions.
func lacks() []lack {
	return []lack{
		{key: "offload", fatal: true, has: func(j job) bool { return j.Offload == study.On }, text: func(job) string {
			return "UDP offload is supported by the built-in generator only; set offload to off"
		}},
		{key: "send_buffer", fatal: true, has: func(j job) bool {
			return j.SendBuffer.Bytes > 0 && j.ReceiveBuffer.Bytes > 0 && j.SendBuffer.Bytes != j.ReceiveBuffer.Bytes
		}, text: func(j job) string {
			return fmt.Sprintf("it sets both buffers to one size; set send_buffer and receive_buffer to the same value, not %d and %d", j.SendBuffer.Bytes, j.ReceiveBuffer.Bytes)
		}},
		{key: "burst", has: func(j job) bool { return j.Burst > 1 }, text: func(j job) string {
			return fmt.Sprintf("%s does not support a limit on bursts, so burst %d is ignored", j.Tool, j.Burst)
		}},
		{key: "wait", unset: true, has: func(j job) bool { return j.Spins() }, text: func(j job) string {
			return j.Tool + " waits for its schedule in its own way, so wait spin is ignored"
		}},
		{key: "scheduling", unset: true, has: func(j job) bool { return j.RealTime() }, text: func(j job) string {
			return j.Tool + " runs without real-time priority, so scheduling fifo is ignored"
		}},
	}
}

// BuiltInOnly lists the parameters that a study cannot set with a tool.
func BuiltInOnly() (keys []string) {
	for _, l := range lacks() {
		if l.unset {
			keys = append(keys, l.key)
		}
	}
	return keys
}
