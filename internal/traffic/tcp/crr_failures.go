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
	var errno syscall.Errno
	_ = errors.As(err, &errno)
	is := func(all ...syscall.Errno) bool { return slices.Contains(all, errno) }
	switch {
	case errors.Is(err, errNoReply), is(syscall.ETIMEDOUT):
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

// errNoReply means that a connection had no answer in time.
var errNoReply = errors.New("did not answer")

// noReplyError returns the error for a connection that took longer than serverReplyTimeout. others
// is the number of connections before it.
func noReplyError(addr netip.AddrPort, others int64) error {
	return fmt.Errorf("%s %w within %s on a connection that was opened after %d others", addr, errNoReply, serverReplyTimeout(), others)
}

// tally are counts by kind of failure.
type tally [failures]int64

// String lists the kinds that occurred, such as "3 refused, 1 reset".
func (t tally) String() string {
	var parts []string
	for f, n := range t {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, failure(f)))
		}
	}
	return strings.Join(parts, ", ")
}
