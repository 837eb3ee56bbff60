package tcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

// readSize is what the receiver asks for at once. A kernel goes on with a call
// while more keeps coming, until that is full: of small writes it is less, so that
// a call ends soon, for it counts when it ends.
const (
	readSize    = 128 << 10
	readWrites  = 64 // of the sender's
	minReadSize = 4 << 10
)

func readSizeFor(p traffic.Params) int {
	if p.WriteSize >= readSize/readWrites {
		return readSize
	}
	return max(minReadSize, p.WriteSize*readWrites)
}

// batchSize and maxBatchWrites bound how much goes out in small writes before the clock
// is read again.
const (
	batchSize      = 32 << 10
	maxBatchWrites = 16
)

// stopByte goes from the receiver to the sender when the receiver's window is
// over. The sender waits for it: the window never ends in silence because the
// two clocks started apart.
const stopByte = 'S'

// never is a moment that no trial comes to.
const never = time.Duration(1<<63 - 1)

// streamEnd is one connection at one end. It is stepped until it is done, by a
// thread of its own over a blocking socket or by one that serves several.
type streamEnd struct {
	socket.Stream
	thread threadStream // the same, nil on the portable path
	start  time.Time
	bins   *traffic.BinCounter
	send   bool
	buf    []byte
	small  [1]byte // for a stop, or for none: it is part of what is made once
	done   bool

	stopSent bool // receiver: the sender was told to stop

	yieldCPU       bool  // sender: after each batch, the receiver on this CPU may go first
	batch          int   // sender: writes between two readings of the clock
	unwritten      int   // sender with a schedule: what is left of the write under way
	pace           *pace // sender with a schedule
	warm           bool  // sender: the warm-up is over
	warmAt         time.Duration
	before         socket.TCPInfo // sender: at warmAt
	after          socket.TCPInfo // sender: at the end of its window
	window         time.Duration  // sender: between the two
	draining       bool           // sender: told to stop, and waiting for the receiver's end
	drainDeadline  time.Duration
	unacknowledged int           // sender: not acknowledged when drainDeadline was set
	last           time.Duration // receiver: when payload came
}

// drive steps the end over a socket that waits, until it is done.
func (e *streamEnd) drive(ctx context.Context, over *atomic.Bool) error {
	for !e.done {
		if over.Load() {
			return context.Cause(ctx)
		}
		if e.idle() {
			at := time.Since(e.start)
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

// step goes on by one operation on the socket, or by a few small ones.
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

// idle reports whether there is nothing to write before wake.
func (e *streamEnd) idle() bool {
	return e.send && !e.draining && e.pace != nil && e.unwritten == 0 && e.pace.wakeAt > 0
}

// nextStep is when the end must be stepped even if its socket has nothing to tell.
func (e *streamEnd) nextStep(at time.Duration) time.Duration {
	switch {
	case e.done, !e.send && e.stopSent:
		return never
	case e.draining:
		return e.drainDeadline
	case e.idle() && at < e.bins.End:
		return min(e.pace.wakeAt, e.bins.End)
	case e.idle(): // and looking out for the receiver's stop
		return min(e.pace.wakeAt, at+minSleep)
	case at < e.bins.End:
		return e.bins.End
	case e.send:
		return e.bins.End + DrainTimeout
	}
	return at
}

// write sends, until the receiver has seen its window.
func (e *streamEnd) write() error {
	var err error
	moved := 0
	if e.pace == nil {
		moved, err = e.unpaced()
		if e.yieldCPU {
			e.thread.Yield()
		}
	} else {
		moved, err = e.paced()
	}
	at := time.Since(e.start)
	e.bins.Add(at, int64(moved))
	if err != nil && !socket.IsAgain(err) {
		return err
	}
	if !e.warm && at >= e.bins.Warmup {
		e.before, e.warm, e.warmAt = e.Info(), true, at
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
	case at > e.bins.End+DrainTimeout:
		return fmt.Errorf("the receiver had not seen its window %s after it should have ended", DrainTimeout)
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

// paced serves the slots that are due, as far as the socket takes them.
func (e *streamEnd) paced() (moved int, err error) {
	due := e.pace.due(time.Since(e.start))
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

// stopReceived looks, without waiting, for the receiver's stop.
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

// receive reads until the sender closes its direction, which it does when told
// that the window is over.
func (e *streamEnd) receive() error {
	n, err := e.Read(e.buf)
	at := time.Since(e.start)
	switch {
	case err == nil && n == 0 && !e.stopSent:
		return fmt.Errorf("the sender stopped after %s of %s", at.Round(time.Millisecond), e.bins.End)
	case err == nil && n == 0:
		e.done = true
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
			e.stopSent = true
		case err != nil && !socket.IsAgain(err):
			return fmt.Errorf("tell the sender to stop: %w", err)
		}
	}
	// A sender that goes on for ever is ended by the trial's limit: it cannot be told
	// from one with much under way.
	if at > max(e.bins.End, e.last)+2*DrainTimeout {
		return fmt.Errorf("the sender was told to stop, and nothing came of it within %s: neither payload nor its end", 2*DrainTimeout)
	}
	return nil
}

// DrainTimeout is how long the end of a transfer may go without progress: how much is
// still under way, and how long it takes, depends on the buffers of all connections
// and on the rate of the underlay. What bounds it as a whole is the trial's limit.
const DrainTimeout = 5 * time.Second

// acknowledgeTimeout is the same for a sender that is told how much is acknowledged. It is
// more than the gaps of 3.2 and 6.4 s to which the kernel's probes of a closed window back
// off (RFC 9293 section 3.8.6.1): a relay may be waiting for one. Transfers through passt
// were seen to stand still for longer than DrainTimeout; that this is the cause is not proven.
const acknowledgeTimeout = 8 * time.Second

// blindDrainFactor is how many times as long a sender waits that is not told of progress: its
// system does not tell whether anything is acknowledged, or all is and the receiver has not
// read it. A relay on the path, such as a guest's, acknowledges what it still has to pass on.
const blindDrainFactor = 6

// finish ends the direction: what was sent before still arrives.
func (e *streamEnd) finish() error {
	e.after, e.window = e.Info(), time.Since(e.start)-e.warmAt
	if e.pace != nil {
		e.pace.close()
	}
	if err := e.CloseWrite(); err != nil {
		return fmt.Errorf("end the stream: %w", err)
	}
	var known bool
	e.draining, e.drainDeadline = true, time.Since(e.start)+acknowledgeTimeout
	if e.unacknowledged, known = e.Unacknowledged(); !known || e.unacknowledged == 0 {
		e.drainDeadline += blindDrainFactor*DrainTimeout - acknowledgeTimeout
	}
	return nil
}

// drain waits for the receiver's end of the connection, for as long as what is under
// way gets less.
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

// progress puts the end of a drain off if anything arrived since it was set.
func (e *streamEnd) progress() error {
	at := time.Since(e.start)
	if at <= e.drainDeadline {
		return nil
	}
	left, known := e.Unacknowledged()
	switch {
	case !known:
		return fmt.Errorf("what was sent did not all arrive within %s", blindDrainFactor*DrainTimeout)
	case left == 0 && e.unacknowledged == 0:
		return fmt.Errorf("all that was sent arrived, but the receiver did not read it to its end within %s", blindDrainFactor*DrainTimeout)
	case left >= e.unacknowledged:
		return fmt.Errorf("%d bytes did not arrive, and within %s the receiver acknowledged none of them", left, acknowledgeTimeout)
	}
	e.unacknowledged, e.drainDeadline = left, at+acknowledgeTimeout
	if left == 0 {
		e.drainDeadline += blindDrainFactor*DrainTimeout - acknowledgeTimeout
	}
	return nil
}
