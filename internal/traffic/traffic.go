// Package traffic defines workloads, the parameters of an endpoint of a trial and its report. The
// built-in workloads are in traffic/tcp and traffic/udp and listed in traffic/workloads.
package traffic

import (
	"context"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic/thread"
)

// Workload is one traffic pattern. The client dials and the server listens; Params.Reverse sets the
// direction of the payload.
type Workload interface {
	// Spec describes the workload for the study file and the docs.
	Spec() Spec
	// Listen opens the server's port. Server.Serve runs the trial.
	Listen(p Params) (Server, error)
	// Dial runs the client's part of a trial. peer receives the server's report if the server ends
	// first.
	Dial(ctx context.Context, p Params, peer Peer) (Report, error)
	// Metrics computes the metrics of the trial from the reports of both endpoints, by the names of
	// result.Metrics, and the series of the primary metric.
	Metrics(p Params, client, server Report) (map[string]float64, *result.Series)
}

// Server is the listening endpoint of one trial.
type Server interface {
	Port() uint16
	// Serve waits for the client, runs the trial and closes the port. peer receives the client's
	// report if the client ends first.
	Serve(ctx context.Context, peer Peer) (Report, error)
}

// Spec describes a workload.
type Spec struct {
	study.WorkloadSpec
	Title string
	// StandsFor is the traffic of users that the workload is like, in a few words.
	StandsFor string
	// MadeOf is the workload whose trials this workload consists of; empty if it has its own.
	MadeOf string
	// Datagrams is true for a workload over UDP, where lost data is not retransmitted.
	Datagrams bool
}

// Params are the parameters of one endpoint of a trial. Spec lists the fields that a workload
// reads; the others are zero. Address is where to listen or what to dial. A peer without Token is
// refused.
type Params struct {
	Kind     string `json:"kind"`
	Tool     string `json:"tool,omitempty"`     // an external generator; "" is the built-in one
	Portable bool   `json:"portable,omitempty"` // use the portable implementation even if there is a fast one
	Address  string `json:"address"`
	Token    string `json:"token"`
	CPU      int    `json:"cpu"` // to pin to, -1 for none

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
