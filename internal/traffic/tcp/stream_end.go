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
	readSize   = 128 << 10
	readWrites = 64 // of the sender's
	readLeast  = 4 << 10
)

func readSizeFor(p traffic.Params) int {
	if p.WriteSize >= readSize/readWrites {
		return readSize
	}
	return max(readLeast, p.WriteSize*readWrites)
}

// batchSize and batchMost bound how much goes out in small writes before the clock
// is read again.
const (
	batchSize = 32 << 10
	batchMost = 16
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

	told bool // receiver: the sender was told to stop

	yields   bool  // sender: after each batch, the receiver on this CPU may go first
	batch    int   // sender: writes between two readings of the clock
	rest     int   // sender with a schedule: what is left of the write under way
	pace     *pace // sender with a schedule
	warm     bool  // sender: the warm-up is over
	warmAt   time.Duration
	before   socket.TCPInfo // sender: at warmAt
	after    socket.TCPInfo // sender: at the end of its window
	window   time.Duration  // sender: between the two
	draining bool           // sender: told to stop, and waiting for the receiver's end
	drainBy  time.Duration
	left     int           // sender: not acknowledged when drainBy was set
	last     time.Duration // receiver: when payload came
}

// drive steps the end over a socket that waits, until it is done.
func (e *streamEnd) drive(ctx context.Context, over *atomic.Bool) error {
	for !e.done {
		if over.Load() {
			return context.Cause(ctx)
		}
		if e.idle() {
			at := time.Since(e.start)
			if d := e.wake(at) - at; d > 0 {
				e.pause(min(d, socket.Patience))
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
	return e.send && !e.draining && e.pace != nil && e.rest == 0 && e.pace.wake > 0
}

// wake is when the end must be stepped even if its socket has nothing to tell.
func (e *streamEnd) wake(at time.Duration) time.Duration {
	switch {
	case e.done, !e.send && e.told:
		return never
	case e.draining:
		return e.drainBy
	case e.idle() && at < e.bins.End:
		return min(e.pace.wake, e.bins.End)
	case e.idle(): // and looking out for the receiver's stop
		return min(e.pace.wake, at+leastNap)
	case at < e.bins.End:
		return e.bins.End
	case e.send:
		return e.bins.End + DrainWait
	}
	return at
}

// write sends, until the receiver has seen its window.
func (e *streamEnd) write() error {
	var err error
	moved := 0
	if e.pace == nil {
		moved, err = e.unpaced()
		if e.yields {
			e.thread.Yield()
		}
	} else {
		moved, err = e.paced()
	}
	at := time.Since(e.start)
	e.bins.Add(at, int64(moved))
	if err != nil && !socket.Again(err) {
		return err
	}
	if !e.warm && at >= e.bins.Warmup {
		e.before, e.warm, e.warmAt = e.Info(), true, at
	}
	if at < e.bins.End {
		return nil
	}
	stopped, err := e.toldToStop()
	switch {
	case err != nil:
		return err
	case stopped:
		return e.finish()
	case at > e.bins.End+DrainWait:
		return fmt.Errorf("the receiver had not seen its window %s after it should have ended", DrainWait)
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
		if e.rest == 0 {
			if due == 0 {
				break
			}
			due--
			e.pace.serve()
			e.rest = len(e.buf)
		}
		n, err := e.Write(e.buf[len(e.buf)-e.rest:])
		moved += n
		e.rest -= n
		if err != nil || e.rest > 0 {
			return moved, err
		}
	}
	return moved, nil
}

// toldToStop looks, without waiting, for the receiver's stop.
func (e *streamEnd) toldToStop() (bool, error) {
	n, err := e.ReadNow(e.small[:])
	switch {
	case socket.Again(err):
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
	case err == nil && n == 0 && !e.told:
		return fmt.Errorf("the sender stopped after %s of %s", at.Round(time.Millisecond), e.bins.End)
	case err == nil && n == 0:
		e.done = true
		return e.CloseWrite()
	case err == nil:
		e.bins.Add(at, int64(n))
		e.last = at
	case !socket.Again(err):
		return err
	}
	if !e.told && at >= e.bins.End {
		e.small[0] = stopByte
		switch n, err := e.Write(e.small[:]); {
		case n == 1:
			e.told = true
		case err != nil && !socket.Again(err):
			return fmt.Errorf("tell the sender to stop: %w", err)
		}
	}
	// A sender that goes on for ever is ended by the trial's limit: it cannot be told
	// from one with much under way.
	if at > max(e.bins.End, e.last)+2*DrainWait {
		return fmt.Errorf("the sender was told to stop, and nothing came of it within %s: neither payload nor its end", 2*DrainWait)
	}
	return nil
}

// DrainWait is how long the end of a transfer may go without progress: how much is
// still under way, and how long it takes, depends on the buffers of all connections
// and on the rate of the underlay. What bounds it as a whole is the trial's limit.
const DrainWait = 5 * time.Second

// acknowledgeWait is the same for a sender that is told how much is acknowledged. It is
// more than the gaps of 3.2 and 6.4 s to which the kernel's probes of a closed window back
// off (RFC 9293 section 3.8.6.1): a relay may be waiting for one. Transfers through passt
// were seen to stand still for longer than DrainWait; that this is the cause is not proven.
const acknowledgeWait = 8 * time.Second

// blindDrain is how many times as long a sender waits that is not told of progress: its
// system does not tell whether anything is acknowledged, or all is and the receiver has not
// read it. A relay on the path, such as a guest's, acknowledges what it still has to pass on.
const blindDrain = 6

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
	e.draining, e.drainBy = true, time.Since(e.start)+acknowledgeWait
	if e.left, known = e.Unacknowledged(); !known || e.left == 0 {
		e.drainBy += blindDrain*DrainWait - acknowledgeWait
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
	case err != nil && !socket.Again(err):
		return err
	default:
		return e.progress()
	}
	return nil
}

// progress puts the end of a drain off if anything arrived since it was set.
func (e *streamEnd) progress() error {
	at := time.Since(e.start)
	if at <= e.drainBy {
		return nil
	}
	left, known := e.Unacknowledged()
	switch {
	case !known:
		return fmt.Errorf("what was sent did not all arrive within %s", blindDrain*DrainWait)
	case left == 0 && e.left == 0:
		return fmt.Errorf("all that was sent arrived, but the receiver did not read it to its end within %s", blindDrain*DrainWait)
	case left >= e.left:
		return fmt.Errorf("%d bytes did not arrive, and within %s the receiver acknowledged none of them", left, acknowledgeWait)
	}
	e.left, e.drainBy = left, at+acknowledgeWait
	if left == 0 {
		e.drainBy += blindDrain*DrainWait - acknowledgeWait
	}
	return nil
}
