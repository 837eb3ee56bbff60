// Package web implements the workloads of requests over HTTP: http, http2 and grpc. The inner loops of http without TLS run on locked
// threads with their own sockets and allocate nothing; HTTP/2, and all in TLS, have the loops of goroutines over the same sockets.
package web

import (
	"context"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// path is one implementation of the connections and loops of http: that of Linux with its own system calls, those of other
// systems with goroutines.
type path struct {
	name string
	net  socket.TCP

	// request runs the client's flows for one window.
	request func(ctx context.Context, w *httpWindow) error
	// serve answers requests until ctx ends. Its cause is exchange.ErrClientEnded at the end of a trial.
	serve func(ctx context.Context, l socket.Listener, t httpTrial) (httpServed, error)
}

// portablePath has the loops of goroutines over any sockets.
func portablePath(name string, over socket.TCP) path {
	return path{name: name, net: over, request: requestHTTPPortable(over), serve: serveHTTPPortable}
}

// All returns the workloads over HTTP with the fastest implementation on this system.
func All() []traffic.Workload { return over(fastest()) }

func over(n path) []traffic.Workload {
	return []traffic.Workload{httpRequests{n}, http2Requests{path: n}, http2Requests{path: n, grpc: true}}
}
