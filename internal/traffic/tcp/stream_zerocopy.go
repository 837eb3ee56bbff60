package tcp

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"tare/internal/traffic"
)

// The bounds of the buffers of one connection that sends without copying. The memory is twice the
// default send buffer as the kernel grants it, so that the buffers do not limit what is in flight.
const (
	zeroCopyMemory     = 4 << 20
	mostZeroCopyWrites = 1024
)

// zeroCopyLimit bounds the memory of all buffers of an endpoint that sends without copying, in bytes.
const zeroCopyLimit = 1 << 30

// fullRetry is how long a connection without a free buffer waits for an event before it is tried
// again.
const fullRetry = 10 * time.Millisecond

// zeroCopyBuffers returns the number of buffers of a connection for writes of size bytes, a power of 2.
func zeroCopyBuffers(size int) int {
	n := min(max(1, zeroCopyMemory/size), mostZeroCopyWrites)
	return 1 << (bits.Len(uint(n)) - 1) //nolint:gosec // positive
}

// checkZeroCopy refuses a sender that cannot send without copying. The kernel is asked when the
// sockets are opened.
func (w stream) checkZeroCopy(p traffic.Params) error {
	if w.path.threads == nil || w.path.threads.zeroCopy == nil {
		return errors.New("tcp_stream: zero_copy requires a sender on Linux with the fast implementation, and this one has another; set zero_copy to off")
	}
	if n := p.Streams * zeroCopyBuffers(p.WriteSize) * p.WriteSize; n > zeroCopyLimit {
		return fmt.Errorf("tcp_stream: zero_copy keeps %d MiB of buffers for %d streams with writes of %d bytes: at most %d MiB; use smaller writes or fewer streams",
			n>>20, p.Streams, p.WriteSize, zeroCopyLimit>>20)
	}
	return nil
}

// mapZeroCopy allocates the buffers of each sending connection. Each has its own, because an application must
// not change data that is in flight.
func (b *buffers) mapZeroCopy(n path, p traffic.Params) error {
	for len(b.zeroCopy) < p.Streams {
		memory, err := n.threads.mapZeroCopy(zeroCopyBuffers(p.WriteSize) * p.WriteSize)
		if err != nil {
			return err
		}
		fillPayload(memory)
		b.zeroCopy = append(b.zeroCopy, memory)
	}
	return nil
}

// free releases what is not of the Go heap.
func (b *buffers) free(n path) {
	for _, memory := range b.zeroCopy {
		n.threads.unmapZeroCopy(memory)
	}
	b.zeroCopy = nil
}

// full reports whether the sender waits for the kernel to return a buffer.
func (e *streamEnd) full() bool { return e.zeroCopy != nil && e.zeroCopy.Full() }

// release ends a sender whose receiver has everything, when the kernel has returned its buffers. A
// network card may still have read a retransmitted one.
func (e *streamEnd) release() error {
	if _, err := e.zeroCopy.Reap(); err != nil {
		return err
	}
	switch {
	case e.zeroCopy.Pending() == 0:
		e.done = true
	case e.start.Since() > e.drainDeadline:
		return fmt.Errorf("all data arrived, but the kernel still uses %d buffers that were sent without copying", e.zeroCopy.Pending())
	default:
		e.pause(time.Millisecond)
	}
	return nil
}
