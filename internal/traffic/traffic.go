// Package traffic is the built-in generator: one file a workload. Its hot loops
// run on locked threads over plain blocking sockets, allocate nothing and book
// what they do into memory that was set aside before.
package traffic

import (
	"context"
	"fmt"
	"slices"
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
	// Dial runs the client's part of a trial.
	Dial(ctx context.Context, p Params) (Report, error)
	// Metrics turns both ends' reports into the trial's figures, by the names
	// of result.Metrics, and the series of the primary one.
	Metrics(p Params, client, server Report) (map[string]float64, *result.Series)
}

// Sliced is a workload whose client can be driven in turns with others, so that
// a machine whose speed wavers treats them all alike.
type Sliced interface {
	Workload
	// Open connects and warms up. The first slice comes behind it.
	Open(ctx context.Context, p Params) (Session, error)
}

// Session is the client's part of a trial that is driven in slices. Its methods
// are called one after the other.
type Session interface {
	// Slice drives the traffic for d. What falls into the first d/SliceWarmup is
	// not counted: caches hold what another mode left there.
	Slice(ctx context.Context, d time.Duration) error
	// Close ends the trial and reports on all slices together.
	Close() Report
}

// SliceWarmup is the part of a slice, as 1/SliceWarmup, that is not counted.
const SliceWarmup = 5

// Server is the listening end of one trial.
type Server interface {
	Port() uint16
	// Serve waits for the client, runs the trial and closes the port.
	Serve(ctx context.Context) (Report, error)
}

// Spec describes a workload.
type Spec struct {
	study.WorkloadSpec
	Title string
}

// All is the registry of workloads.
func All() []Workload {
	return []Workload{tcpStream{}, tcpRR{}}
}

// Named finds a workload by its kind.
func Named(kind string) (Workload, error) {
	all := All()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Spec().Kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("unknown workload %q", kind)
	}
	return all[i], nil
}

// Params is all that one end of a trial is told. Buffers are bytes, -1 leaving
// them to the kernel; CPU is the one to pin to, -1 for none. Address is where to
// listen or what to dial. Token is the trial's: a peer without it is turned away.
type Params struct {
	Kind          string        `json:"kind"`
	Address       string        `json:"address"`
	Token         string        `json:"token"`
	CPU           int           `json:"cpu"`
	Streams       int           `json:"streams,omitempty"`
	WriteSize     int           `json:"write_size,omitempty"`
	NoDelay       bool          `json:"no_delay,omitempty"`
	Reverse       bool          `json:"reverse,omitempty"`
	Congestion    string        `json:"congestion_control"`
	SendBuffer    int           `json:"send_buffer"`
	ReceiveBuffer int           `json:"receive_buffer"`
	Warmup        time.Duration `json:"warmup"`
	Duration      time.Duration `json:"duration"`
	Slice         time.Duration `json:"slice,omitempty"`  // 0 drives the trial at once
	Rounds        int           `json:"rounds,omitempty"` // how many slices, 0 where the trial has none
	Limit         time.Duration `json:"limit,omitempty"`  // the trial is given up after that; 0 is Warmup + Duration + 10 s
}

// Report is what one end saw of a trial. Counts are over the whole trial unless
// said otherwise; the window is the timed part behind the warm-up.
type Report struct {
	Connections   int     `json:"connections"`
	Sent          int64   `json:"sent"`     // payload bytes handed to the kernel
	Received      int64   `json:"received"` // payload bytes read
	Messages      int64   `json:"messages"` // requests sent, or responses
	Refused       int     `json:"refused"`  // peers without the token
	Traffic       float64 `json:"traffic"`  // seconds with payload flowing
	Window        Window  `json:"window"`
	TCP           TCP     `json:"tcp"`
	SendBuffer    int     `json:"send_buffer"`    // granted, bytes
	ReceiveBuffer int     `json:"receive_buffer"` // granted, bytes
	CPU           int     `json:"cpu"`            // pinned to, -1 for none
}

// Window is the timed part of a trial at one end.
type Window struct {
	Seconds     float64   `json:"seconds"`
	Received    int64     `json:"received"`    // payload bytes
	Messages    int64     `json:"messages"`    // exchanges completed
	Retransmits *int64    `json:"retransmits"` // segments, nil where not counted
	Series      []float64 `json:"series"`      // bytes or exchanges per second
	Interval    float64   `json:"interval"`    // of Series, seconds
	P50         float64   `json:"p50"`         // seconds, 0 where none was taken
	P99         float64   `json:"p99"`         // seconds, 0 where none was taken
}

// TCP is what the kernel tells of the connections, summed where they add up and
// of the first where they do not.
type TCP struct {
	Congestion string  `json:"congestion_control"`
	MSS        int     `json:"mss"`
	RTT        float64 `json:"rtt"`      // smoothed, seconds
	Wire       uint64  `json:"wire"`     // payload bytes sent, retransmissions included
	Segments   uint64  `json:"segments"` // sent, acknowledgements included
}

// SeriesInterval is the grain of Window.Series.
const SeriesInterval = 100 * time.Millisecond
