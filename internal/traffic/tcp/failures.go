package tcp

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"tare/internal/result"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/socket"
)

// failure is how a connection failed that others of the same trial need not share. It is counted, and its
// flow opens the next: a trial that ended with it would show only the connections of better times.
type failure int

const (
	unanswered failure = iota // no response in time
	turnedAway                // by the other host, or by what is before it
	cutOff                    // established, and ended before its response had arrived
	failures                  // their number
)

func (f failure) String() string {
	return [...]string{"without a response in time", "refused", "reset"}[f]
}

// failureOf tells such a failure from errors of this host, which end a trial. Windows has its own error numbers
// (WSAECONNABORTED, WSAECONNRESET, WSAECONNREFUSED).
func failureOf(err error) (f failure, counted bool) {
	if err == nil {
		return 0, false
	}
	var errno syscall.Errno
	_ = errors.As(err, &errno)
	is := func(all ...syscall.Errno) bool { return slices.Contains(all, errno) }
	switch {
	case errors.Is(err, errNoReply), errors.Is(err, socket.ErrNoAnswer), is(syscall.ETIMEDOUT):
		return unanswered, true
	case is(syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, 10061):
		return turnedAway, true
	case errors.Is(err, errPeerClosed), errors.Is(err, io.ErrUnexpectedEOF), is(syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, 10053, 10054):
		return cutOff, true
	}
	return 0, false
}

// mostUnanswered is how many connections in a row may have no answer, besides one for each flow: on a path that
// loses packets, they are a share of all. Each takes serverReplyTimeout; other failures take no time, so that more
// of them in a row are no sign that the server has gone.
const mostUnanswered, mostRefused = 3, 100

// fail counts a connection that ended with err, after which its flow opens the next. It returns err if that ends the
// trial: if it is of this host, if no flow has had any answer, or if so many in a row failed that the server has gone.
func (w *crrWindow) fail(err error, begun, at time.Duration) error {
	f, counted := failureOf(err)
	if !counted {
		return err
	}
	w.tried.add(f)
	if w.bins.Add(begun, at, false) {
		w.failed[f]++
	}
	most := mostRefused
	if f == unanswered {
		most = mostUnanswered + w.Streams
	}
	w.inRow[f]++
	switch {
	case f == unanswered && w.bins.Total == 0 && w.before == 0 && w.inRow[f] >= int64(w.Streams):
		return err
	case w.inRow[f] > int64(most):
		return fmt.Errorf("%w, as did %d before it", err, w.inRow[f]-1)
	}
	return nil
}

// lateHandshake is the retransmission timer of a SYN (RFC 6298, 2.1). A kernel's timers may be early by a tick, so
// the SYNs that it repeated are asked for from half of it on: for each connection, that would cost more than the connection.
const lateHandshake = time.Second

// isLate reports whether a handshake of that length lost a packet: its SYN was repeated, or it took lateHandshake.
// repeated returns how many segments the kernel has repeated, none if it does not say; it must be asked before
// the first data.
func isLate(took time.Duration, repeated func() int64) bool {
	return took >= lateHandshake || took >= lateHandshake/2 && repeated() > 0
}

// errNoReply means that a connection had no answer in time.
var errNoReply = errors.New("did not answer")

// peerSilence bounds how long a call that transfers a part of a message may be repeated without progress.
type peerSilence struct {
	since   clock.Instant
	waiting bool
}

// check returns err, or that of a peer that has been silent for serverReplyTimeout, after a call that moved n bytes.
func (s *peerSilence) check(n int, err error) error {
	switch {
	case n > 0 || !socket.IsAgain(err):
		s.waiting = false
	case !s.waiting:
		s.waiting, s.since = true, clock.Now()
	case s.since.Since() > serverReplyTimeout():
		return fmt.Errorf("%w within %s", errNoReply, serverReplyTimeout())
	}
	return err
}

// noReplyError returns the error for a connection that took longer than serverReplyTimeout. others
// is the number of connections before it.
func noReplyError(addr netip.AddrPort, others int64) error {
	return fmt.Errorf("%s %w within %s on a connection that was opened after %d others", addr, errNoReply, serverReplyTimeout(), others)
}

// tries counts the connections that a client tried in a trial: see result.Attempts.
type tries struct{ result.Attempts }

// open counts a connection, which was late.
func (t *tries) open(late bool) {
	t.Tried++
	if late {
		t.Late++
	}
}

// add counts the failure of a connection that is counted as tried.
func (t *tries) add(f failure) {
	*[...]*int64{&t.TimedOut, &t.Refused, &t.Reset}[f]++
}

// tally are counts by kind of failure.
type tally [failures]int64

// String lists the kinds that occurred, such as "3 refused, 1 reset".
func (t tally) String() string {
	return listed(t[:], func(kind int) string { return failure(kind).String() })
}

// listed lists the kinds of failures that occurred, with how many there were of each.
func listed(counts []int64, name func(kind int) string) string {
	var parts []string
	for kind, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name(kind)))
		}
	}
	return strings.Join(parts, ", ")
}
