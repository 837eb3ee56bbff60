// Package connection has what the workloads over TCP share of their connections: their options, what their kernel reports of them, the moving of
// whole messages, and which failures are counted.
package connection

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// List are the connections of one trial.
type List []socket.Stream

// Close closes all of them.
func (c List) Close() {
	for _, s := range c {
		s.Close()
	}
}

// LeastRTT returns the least round trip of the first connection, as its kernel knows it; 0 if it does not.
func (c List) LeastRTT() time.Duration {
	if len(c) == 0 {
		return 0
	}
	return time.Duration(c[0].Info().MinRTT * float64(time.Second))
}

// FillReport adds what the kernel reports about the connections.
func (c List) FillReport(r *traffic.Report) {
	r.Connections = len(c)
	for i, s := range c {
		st := s.Info()
		r.TCP.Wire += st.Sent
		r.TCP.Resent += st.Resent
		r.TCP.Received += st.Received
		r.TCP.Segments += st.Segments
		if i > 0 {
			continue
		}
		r.MSS, r.Congestion = st.MSS, st.Congestion
		if st.RTT > 0 {
			r.RTT = &st.RTT
		}
		r.SendBuffer, r.ReceiveBuffer = st.SendBuffer, st.ReceiveBuffer
	}
}

// Options returns the socket options of an endpoint.
func Options(p traffic.Params) socket.TCPOptions {
	return socket.TCPOptions{Workload: p.Workload}
}

// TooManyFiles adds what to do if the process may not open as many sockets.
func TooManyFiles(err error, p traffic.Params) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%s: %d flows need more open files than this process may have; raise ulimit -n or use fewer flows: %w", p.Kind, p.Streams, err)
	}
	return err
}
