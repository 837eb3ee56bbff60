// Package traffic defines workloads, the parameters of an endpoint of a trial and its report. The
// built-in workloads are in traffic/tcp, traffic/web and traffic/udp, and listed in traffic/workloads.
package traffic

import (
	"context"

	"tare/internal/result"
	"tare/internal/study"
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
