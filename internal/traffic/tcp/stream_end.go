package tcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/socket"
)

// readSize is the receiver's buffer size in bytes. The kernel continues a read call while data
// keeps arriving, until the buffer is full. For small writes the buffer is smaller, so that calls
// return sooner: bytes are counted when a call returns.
const (
	readSize    = 128 << 10
	readWrites  = 64 // writes of the sender
	minReadSize = 4 << 10
)

func readSizeFor(p traffic.Params) int {
	if p.WriteSize >= readSize/readWrites {
		return readSize
	}
	return max(minReadSize, int(p.WriteSize)*readWrites)
}

// batchSize and maxBatchWrites bound how much is sent in small writes between two clock readings.
const (
	batchSize      = 32 << 10
	maxBatchWrites = 16
)

// stopByte is sent by the receiver when its window is over. The sender continues until it arrives,
// so that the receiver's window always has traffic although the two clocks did not start at the
// same time.
const stopByte = 'S'

// never is later than the end of any trial.
const never = time.Duration(1<<63 - 1)

// streamEnd is one connection at one endpoint. A thread calls step until done: its own thread with
// a blocking socket, or one that serves several connections.
type streamEnd struct {
	socket.Stream
	thread threadStream // the same stream, nil in the portable implementation
	start  clock.Instant
	bins   *traffic.BinCounter
	send   bool
	buf    []byte
	small  [1]byte // allocated once, for the stop byte
	done   bool

	stopSent       bool          // receiver: the stop byte was sent
	held           *traffic.Held // when the window ended; nil if that is unknown
	receivedInTime int64         // receiver: bytes when the stop byte was sent

	batch           int   // sender: writes between two clock readings
	unwritten       int   // sender with a schedule: unsent bytes of the current write
	pace            *pace // sender with a schedule
	warm            bool  // sender: the warm-up is over
	warmAt          time.Duration
	before          socket.TCPInfo // sender: at warmAt
	deliveredBefore int64          // sender: bytes at warmAt
	after           socket.TCPInfo // sender: at the end of its window
	window          time.Duration  // sender: between the two
	draining        bool           // sender: stopped, waiting for the receiver to close
	drainDeadline   time.Duration
	unacknowledged  int           // sender: unacknowledged bytes when drainDeadline was set
	last            time.Duration // receiver: time of the last payload
}

// drive steps the connection over a blocking socket until it is done.
func (e *streamEnd) drive(ctx context.Context, over *atomic.Bool) error {
	for !e.done {
		if over.Load() {
			return context.Cause(ctx)
		}
		if e.idle() {
			at := e.start.Since()
			if d := e.nextStep(at) - at; d > 0 {
				e.pause(min(d, socket.PollTimeout))
			}
		}
		if err := e.step(); err != nil {
			return err
		}
	}
	return nil
}

func (e *streamEnd) pause(d time.Duration) {
	if e.thread == nil {
		time.Sleep(d)
		return
	}
	e.thread.Pause(d)
}

// step performs one operation on the socket, or several small ones.
func (e *streamEnd) step() error {
	switch {
	case !e.send:
		if err := e.receive(); err != nil {
			return fmt.Errorf("receive: %w", err)
		}
	case e.draining:
		if err := e.drain(); err != nil {
			return fmt.Errorf("drain: %w", err)
		}
	default:
		if err := e.write(); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	return nil
}

// idle reports whether the sender has nothing to write before its next slot.
func (e *streamEnd) idle() bool {
	return e.send && !e.draining && e.pace != nil && e.unwritten == 0 && e.pace.wakeAt > 0
}

// nextStep returns when the connection must be stepped even if its socket has no event.
func (e *streamEnd) nextStep(at time.Duration) time.Duration {
	switch {
	case e.done, !e.send && e.stopSent:
		return never
	case e.draining:
		return e.drainDeadline
	case e.idle() && at < e.bins.End:
		return min(e.pace.wakeAt, e.bins.End)
	case e.idle(): // and check for the receiver's stop byte
		return min(e.pace.wakeAt, at+minSleep)
	case at < e.bins.End:
		return e.bins.End
	case e.send:
		return e.bins.End + DrainTimeout()
	}
	return at
}

// write sends until the receiver reports the end of its window.
func (e *streamEnd) write() error {
	var err error
	moved := 0
	if e.pace == nil {
		moved, err = e.unpaced()
	} else {
		moved, err = e.paced()
	}
	at := e.start.Since()
	e.bins.Add(at, int64(moved))
	if err != nil && !socket.IsAgain(err) {
		return err
	}
	if !e.warm && at >= e.bins.Warmup {
		e.before, e.warm, e.warmAt = e.Info(), true, at
		e.deliveredBefore = e.delivered()
	}
	if at < e.bins.End {
		return nil
	}
	stopped, err := e.stopReceived()
	switch {
	case err != nil:
		return err
	case stopped:
		return e.finish()
	case at > e.bins.End+DrainTimeout():
		return fmt.Errorf("the receiver did not report the end of its window within %s", DrainTimeout())
	}
	return nil
}

func (e *streamEnd) unpaced() (moved int, err error) {
	for range e.batch {
		n, err := e.Write(e.buf)
		moved += n
		if err != nil || n < len(e.buf) {
			return moved, err
		}
	}
	return moved, nil
}

// paced serves the due slots as far as the socket accepts data.
func (e *streamEnd) paced() (moved int, err error) {
	due := e.pace.due(e.start.Since())
	for range e.batch {
		if e.unwritten == 0 {
			if due == 0 {
				break
			}
			due--
			e.pace.serve()
			e.unwritten = len(e.buf)
		}
		n, err := e.Write(e.buf[len(e.buf)-e.unwritten:])
		moved += n
		e.unwritten -= n
		if err != nil || e.unwritten > 0 {
			return moved, err
		}
	}
	return moved, nil
}

// stopReceived checks for the receiver's stop byte without waiting.
func (e *streamEnd) stopReceived() (bool, error) {
	n, err := e.ReadNow(e.small[:])
	switch {
	case socket.IsAgain(err):
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, errors.New("the receiver closed the connection")
	}
	return true, nil
}

// receive reads until the sender closes its direction, which it does after the stop byte.
func (e *streamEnd) receive() error {
	n, err := e.Read(e.buf)
	at := e.start.Since()
	switch {
	case err == nil && n == 0 && !e.stopSent:
		return fmt.Errorf("the sender stopped after %s of %s", at.Round(time.Millisecond), e.bins.End)
	case err == nil && n == 0:
		e.done = true
		e.held.Bytes = e.bins.Total - e.receivedInTime
		return e.CloseWrite()
	case err == nil:
		e.bins.Add(at, int64(n))
		e.last = at
	case !socket.IsAgain(err):
		return err
	}
	if !e.stopSent && at >= e.bins.End {
		e.small[0] = stopByte
		switch n, err := e.Write(e.small[:]); {
		case n == 1:
			e.stopSent, e.held = true, e.heldNow(e.bins.Window, e.bins.End-e.bins.Warmup)
			e.receivedInTime = e.bins.Total
		case err != nil && !socket.IsAgain(err):
			return fmt.Errorf("send the stop byte to the sender: %w", err)
		}
	}
	// A sender that never stops is ended by the trial's limit: it cannot be distinguished from one
	// with much data in flight.
	if at > e.bins.End && at > e.last+2*DrainTimeout() && at > e.bins.End+2*DrainTimeout() {
		return fmt.Errorf("the sender did not stop within %s: neither payload nor the end of the stream arrived", 2*DrainTimeout())
	}
	return nil
}

// delivered is how many bytes were sent and acknowledged, or sent if it is unknown which were.
func (e *streamEnd) delivered() int64 {
	left, _ := e.Unacknowledged()
	return e.bins.Total - int64(left)
}

// heldNow is what is known of the path when a window of that length ends, but for what it holds.
func (e *streamEnd) heldNow(delivered int64, window time.Duration) *traffic.Held {
	return &traffic.Held{Streams: 1, Delivered: max(0, delivered), Elapsed: window, RTT: connection.List{e}.LeastRTT()}
}

// DrainTimeout is how long the drain of a transfer may go without progress. How much data is in
// flight, and how long it takes, depends on the buffers of all connections and on the rate of the
// underlay. The trial's limit bounds the whole drain.
func DrainTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// acknowledgeTimeout is the same for a sender that knows how much is acknowledged. It exceeds the
// gaps of 3.2 s and 6.4 s to which the kernel's probes of a closed window back off (RFC 9293
// section 3.8.6.1), because a relay may be waiting for such a probe. Transfers through passt have
// stalled for longer than DrainTimeout; that this is the cause is not proven.
func acknowledgeTimeout() time.Duration { return timelimit.Scaled(8 * time.Second) }

// blindDrainFactor multiplies DrainTimeout for a sender without visible progress: its system does
// not report acknowledgements, or everything is acknowledged and the receiver has not read it. A
// relay on the path, such as that of a guest, acknowledges data that it still has to forward.
const blindDrainFactor = 6

// finish closes the sending direction. Data sent before still arrives.
func (e *streamEnd) finish() error {
	e.after, e.window = e.Info(), e.start.Since()-e.warmAt
	if e.pace != nil {
		e.pace.close()
	}
	if err := e.CloseWrite(); err != nil {
		return fmt.Errorf("end the stream: %w", err)
	}
	var known bool
	e.draining, e.drainDeadline = true, e.start.Since()+acknowledgeTimeout()
	if e.unacknowledged, known = e.Unacknowledged(); known {
		done := e.bins.Total - int64(e.unacknowledged)
		e.held = e.heldNow(done-e.deliveredBefore, e.window)
		e.held.Bytes = int64(e.unacknowledged)
	}
	if !known || e.unacknowledged == 0 {
		e.drainDeadline += blindDrainFactor*DrainTimeout() - acknowledgeTimeout()
	}
	return nil
}

// drain waits until the receiver closes the connection, as long as the unacknowledged data
// decreases.
func (e *streamEnd) drain() error {
	n, err := e.Read(e.small[:])
	switch {
	case err == nil && n == 0:
		e.done = true
	case err != nil && !socket.IsAgain(err):
		return err
	default:
		return e.progress()
	}
	return nil
}

// progress extends the drain if data was acknowledged since the deadline was set.
func (e *streamEnd) progress() error {
	at := e.start.Since()
	if at <= e.drainDeadline {
		return nil
	}
	left, known := e.Unacknowledged()
	switch {
	case !known:
		return fmt.Errorf("data in flight did not arrive within %s", blindDrainFactor*DrainTimeout())
	case left == 0 && e.unacknowledged == 0:
		return fmt.Errorf("all data arrived, but the receiver did not read it to the end within %s", blindDrainFactor*DrainTimeout())
	case left >= e.unacknowledged:
		return fmt.Errorf("%d bytes did not arrive: the receiver acknowledged none of them within %s", left, acknowledgeTimeout())
	}
	e.unacknowledged, e.drainDeadline = left, at+acknowledgeTimeout()
	if left == 0 {
		e.drainDeadline += blindDrainFactor*DrainTimeout() - acknowledgeTimeout()
	}
	return nil
}
