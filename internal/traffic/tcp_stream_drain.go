package traffic

import (
	"fmt"
	"time"
)

// DrainWait is how long the end of a transfer may go without progress: how much is
// still under way, and how long it takes, depends on the buffers of all connections
// and on the rate of the underlay. What bounds it as a whole is the trial's limit.
const DrainWait = 5 * time.Second

// blindDrain is how many times as long a sender waits that is not told of progress: its
// system does not tell whether anything is acknowledged, or all is and the receiver has not
// read it. A relay on the path, such as a guest's, acknowledges what it still has to pass on.
const blindDrain = 6

// finish ends the direction: what was sent before still arrives.
func (e *streamEnd) finish() error {
	e.after, e.window = told(e.stream), time.Since(e.start)-e.warmAt
	if e.pace != nil {
		e.pace.close()
	}
	if err := e.closeWrite(); err != nil {
		return fmt.Errorf("end the stream: %w", err)
	}
	var known bool
	e.draining, e.drainBy = true, time.Since(e.start)+DrainWait
	if e.left, known = unacknowledged(e.stream); !known || e.left == 0 {
		e.drainBy += (blindDrain - 1) * DrainWait
	}
	return nil
}

// unacknowledged is how many bytes of a connection are still to arrive, if its system
// tells.
func unacknowledged(s stream) (int, bool) {
	q, ok := s.(queuer)
	if !ok {
		return 0, false
	}
	n, err := q.queued()
	return n, err == nil
}

// drain waits for the receiver's end of the connection, for as long as what is under
// way gets less.
func (e *streamEnd) drain() error {
	n, err := e.read(e.small[:])
	switch {
	case err == nil && n == 0:
		e.done = true
	case err != nil && !again(err):
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
	left, known := unacknowledged(e.stream)
	switch {
	case !known:
		return fmt.Errorf("what was sent did not all arrive within %s", blindDrain*DrainWait)
	case left == 0 && e.left == 0:
		return fmt.Errorf("all that was sent arrived, but the receiver did not read it to its end within %s", blindDrain*DrainWait)
	case left >= e.left:
		return fmt.Errorf("%d bytes did not arrive, and within %s the receiver acknowledged none of them", left, DrainWait)
	}
	e.left, e.drainBy = left, at+DrainWait
	if left == 0 {
		e.drainBy += (blindDrain - 1) * DrainWait
	}
	return nil
}
