// Package traffic is what the rest of the program knows of traffic: what a workload is,
// what an end of a trial is told and what it reports. The built-in workloads are in
// traffic/tcp and traffic/udp, and listed in traffic/workloads.
package traffic

import (
	"context"
	"time"

	"tare/internal/result"
	"tare/internal/study"
)

// Workload is one traffic pattern. The client dials, the server listens;
// payload flows as Params.Reverse says.
type Workload interface {
	// Spec describes the workload for the study file and the docs.
	Spec() Spec
	// Listen opens the server's port. The trial itself is Server.Serve.
	Listen(p Params) (Server, error)
	// Dial runs the client's part of a trial. peer gives the server's report as
	// soon as the server has ended, if it ends first.
	Dial(ctx context.Context, p Params, peer Peer) (Report, error)
	// Metrics turns both ends' reports into the trial's figures, by the names
	// of result.Metrics, and the series of the primary one.
	Metrics(p Params, client, server Report) (map[string]float64, *result.Series)
}

// Server is the listening end of one trial.
type Server interface {
	Port() uint16
	// Serve waits for the client, runs the trial and closes the port. peer gives
	// the client's report as soon as the client has ended, if it ends first.
	Serve(ctx context.Context, peer Peer) (Report, error)
}

// Spec describes a workload.
type Spec struct {
	study.WorkloadSpec
	Title string
	// MadeOf is the workload whose trials this one is made of, empty where they are
	// its own.
	MadeOf string
	// Datagrams marks a workload over UDP: what is lost stays lost.
	Datagrams bool
}

// Params is all that one end of a trial is told. Which fields a workload reads
// is in its Spec; the others are zero. Address is where to listen or what to
// dial. Token is the trial's: a peer without it is turned away.
type Params struct {
	Kind     string `json:"kind"`
	Tool     string `json:"tool,omitempty"`     // an external generator; "" is the built-in one
	Portable bool   `json:"portable,omitempty"` // take the portable path where there is a fast one too
	Address  string `json:"address"`
	Token    string `json:"token"`
	CPU      int    `json:"cpu"`                // to pin to, -1 for none
	SameCPU  bool   `json:"same_cpu,omitempty"` // the other end is pinned to the same one

	Streams int  `json:"streams,omitempty"` // connections or flows
	Threads int  `json:"threads,omitempty"` // that the streams are spread over; 0 is one each
	Reverse bool `json:"reverse,omitempty"` // the server sends the payload
	Both    bool `json:"both,omitempty"`    // both ends send at once; Reverse is then false

	WriteSize       int    `json:"write_size,omitempty"`       // bytes handed to the kernel at once
	PayloadSize     int    `json:"payload_size,omitempty"`     // bytes of one datagram's payload
	RequestSize     int    `json:"request_size,omitempty"`     // bytes
	ResponseSize    int    `json:"response_size,omitempty"`    // bytes
	Rate            uint64 `json:"rate,omitempty"`             // payload bit/s asked of all streams together, each way; 0 is as fast as it goes
	PacketRate      uint64 `json:"packet_rate,omitempty"`      // the same in datagrams/s; at most one of the two is set
	TransactionRate uint64 `json:"transaction_rate,omitempty"` // exchanges/s of all flows together, on a fixed schedule; 0 is a closed loop
	Burst           int    `json:"burst,omitempty"`            // most datagrams that may leave back to back to catch up
	Offload         bool   `json:"offload,omitempty"`          // UDP segmentation and receive offload: super-packets
	Fragment        bool   `json:"fragment,omitempty"`         // let IP fragment what exceeds the path MTU
	Reset           bool   `json:"reset,omitempty"`            // tcp_crr: close with RST instead of FIN

	NoDelay       bool   `json:"no_delay,omitempty"`
	Congestion    string `json:"congestion_control"`
	SendBuffer    int    `json:"send_buffer"`    // bytes, -1 leaves it to the kernel
	ReceiveBuffer int    `json:"receive_buffer"` // bytes, -1 leaves it to the kernel

	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	Slice    time.Duration `json:"slice,omitempty"`  // 0 drives the trial at once
	Rounds   int           `json:"rounds,omitempty"` // how many slices, 0 where the trial has none
	Limit    time.Duration `json:"limit,omitempty"`  // the trial is given up after that; 0 is Warmup + Duration + 10 s

	// Progress is how often the end that counts tells how far it is, MinProgressInterval or
	// more; 0 is never.
	Progress time.Duration `json:"progress,omitempty"`
	Meter    *Meter        `json:"-"` // where it shows that; nil where nobody asked
}
