package udp

import (
	"time"

	"tare/internal/study"
	"tare/internal/traffic"
)

// sweep is udp_stream at each of a list of loads. A plan makes a workload of each
// rate, and from there on it is driven as udp_stream is.
type sweep struct{ stream }

func (w sweep) Spec() traffic.Spec {
	s := w.stream.Spec()
	s.Title, s.Kind, s.MadeOf = "UDP sweep", "udp_sweep", s.Kind
	s.Params = []string{"rates", "flows", "payload_size", "burst", "offload", "fragment", "direction", "family",
		"send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"}
	s.Optional = nil
	s.Defaults.Rate = 0
	s.Defaults.Rates = study.Rates{250e6, 500e6, 1e9, 2e9, 4e9}
	s.Lengths = map[string]study.Length{
		study.Quick:    {Warmup: study.Duration(100 * time.Millisecond), Duration: study.Duration(time.Second), Slice: traffic.StreamSlice},
		study.Standard: {Warmup: study.Duration(300 * time.Millisecond), Duration: study.Duration(2 * time.Second), Slice: traffic.StreamSlice},
		study.Paper:    {Warmup: study.Duration(10 * time.Second), Duration: study.Duration(60 * time.Second)},
	}
	return s
}
