package traffic

import (
	"cmp"
	"time"

	"tare/internal/study"
	"tare/internal/traffic/thread"
)

// Params are the parameters of one endpoint of a trial. Spec lists the fields that a workload
// reads; the others are zero. Address is where to listen or what to dial. A peer without Token is
// refused.
type Params struct {
	Kind    string `json:"kind"`
	Tool    string `json:"tool,omitempty"` // an external generator; "" is the built-in one
	Address string `json:"address"`
	Token   string `json:"token"`
	CPU     int    `json:"cpu"` // to pin to, -1 for none

	Streams int  `json:"streams,omitempty"` // connections or flows
	Threads int  `json:"threads,omitempty"` // threads that share the streams; 0 is one each
	Reverse bool `json:"reverse,omitempty"` // the server sends the payload
	Both    bool `json:"both,omitempty"`    // both endpoints send at once; Reverse is then false

	WriteSize       int    `json:"write_size,omitempty"`       // bytes per write call
	PayloadSize     int    `json:"payload_size,omitempty"`     // bytes of one datagram's payload
	RequestSize     int    `json:"request_size,omitempty"`     // bytes
	ResponseSize    int    `json:"response_size,omitempty"`    // bytes
	Rate            uint64 `json:"rate,omitempty"`             // payload bit/s of all streams together in each direction; 0 is unlimited
	PacketRate      uint64 `json:"packet_rate,omitempty"`      // the same in datagrams/s; at most one of the two is set
	TransactionRate uint64 `json:"transaction_rate,omitempty"` // exchanges/s of all flows together, on a fixed schedule; 0 is a closed loop
	Spin            bool   `json:"spin,omitempty"`             // a sender with a schedule polls the clock until its next slot instead of sleeping
	FIFO            bool   `json:"fifo,omitempty"`             // the threads have real-time priority (SCHED_FIFO)
	Burst           int    `json:"burst,omitempty"`            // most datagrams that may be sent back to back to catch up
	Offload         bool   `json:"offload,omitempty"`          // UDP segmentation and receive offload: super-packets
	Fragment        bool   `json:"fragment,omitempty"`         // let IP fragment what exceeds the path MTU
	Reset           bool   `json:"reset,omitempty"`            // tcp_crr: close with RST instead of FIN

	NoDelay       bool   `json:"no_delay,omitempty"`
	Congestion    string `json:"congestion_control"`
	SendBuffer    int    `json:"send_buffer"`    // bytes, -1 leaves it to the kernel
	ReceiveBuffer int    `json:"receive_buffer"` // bytes, -1 leaves it to the kernel

	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	Slice    time.Duration `json:"slice,omitempty"`  // 0 runs the trial in one piece
	Rounds   int           `json:"rounds,omitempty"` // number of slices, 0 without slices
	Limit    time.Duration `json:"limit,omitempty"`  // the trial fails after this time; 0 is Warmup + Duration + 10 s

	// Progress is the interval of progress messages from the endpoint that counts, at least
	// MinProgressInterval; 0 sends none.
	Progress time.Duration `json:"progress,omitempty"`
	Meter    *Meter        `json:"-"` // nil if progress is not requested
}

// Threading returns how the endpoint's threads run.
func (p Params) Threading() thread.Settings {
	return thread.Settings{CPU: p.CPU, FIFO: p.FIFO, Spin: p.Spin}
}

// ParamsOf are the parameters of a workload of a resolved study, without what belongs to one endpoint or trial.
func ParamsOf(w study.Workload) Params {
	p := Params{
		Kind: w.Kind, Streams: cmp.Or(w.Streams, w.Flows), Threads: w.Threads,
		Reverse: w.Direction == study.Reverse, Both: w.Direction == study.Both,
		WriteSize: int(w.WriteSize), PayloadSize: int(w.PayloadSize), RequestSize: int(w.RequestSize), ResponseSize: int(w.ResponseSize),
		Rate: uint64(w.Rate), PacketRate: uint64(w.PacketRate), TransactionRate: uint64(w.TransactionRate), Burst: w.Burst,
		Offload: w.Offload == study.On, Fragment: w.Fragment == study.On, Reset: w.Close == study.RST,
		Spin: w.Wait == study.Spin, FIFO: w.Scheduling == study.FIFOScheduling,
		NoDelay: w.NoDelay != nil && *w.NoDelay, Congestion: w.Congestion,
		SendBuffer: socketBuffer(w.SendBuffer), ReceiveBuffer: socketBuffer(w.ReceiveBuffer), Warmup: w.Warmup.Std(), Duration: w.Duration.Std(),
	}
	if w.Rate == study.Unlimited || p.PacketRate > 0 {
		p.Rate = 0
	}
	return p
}

// socketBuffer converts a buffer size: -1 leaves the size to the kernel.
func socketBuffer(b study.BufferSize) int {
	if b.Auto {
		return -1
	}
	return int(b.Bytes)
}
