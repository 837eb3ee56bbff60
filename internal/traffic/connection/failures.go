package connection

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
	"tare/internal/timelimit"
	"tare/internal/traffic/socket"
	"tare/internal/unit"
)

// Failure is how a connection failed that others of the same trial need not share. It is counted, and its
// flow opens the next: a trial that ended with it would show only the connections of better times.
type Failure int

// The failures.
const (
	Unanswered Failure = iota // no response in time
	TurnedAway                // by the other host, or by what is before it
	CutOff                    // established, and ended before its response had arrived
	failures                  // their number
)

func (f Failure) String() string {
	return [...]string{"without a response in time", "refused", "reset"}[f]
}

// FailureOf tells such a failure from errors of this host, which end a trial. Windows has its own error numbers
// (WSAECONNABORTED, WSAECONNRESET, WSAECONNREFUSED).
func FailureOf(err error) (f Failure, counted bool) {
	if err == nil {
		return 0, false
	}
	var errno syscall.Errno
	_ = errors.As(err, &errno)
	is := func(all ...syscall.Errno) bool { return slices.Contains(all, errno) }
	switch {
	case errors.Is(err, ErrNoReply), errors.Is(err, socket.ErrNoAnswer), is(syscall.ETIMEDOUT):
		return Unanswered, true
	case is(syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, 10061):
		return TurnedAway, true
	case errors.Is(err, ErrPeerClosed), errors.Is(err, io.ErrUnexpectedEOF), is(syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, 10053, 10054):
		return CutOff, true
	}
	return 0, false
}

// MostUnanswered is how many connections in a row may have no answer, besides one for each flow: on a path that
// loses packets, they are a share of all. Each takes ReplyTimeout; other failures take no time, so that more
// of them in a row are no sign that the server has gone.
const MostUnanswered = 3

// MostRefused is the same of connections that were refused or cut off.
const MostRefused = 100

// lateHandshake is the retransmission timer of a SYN (RFC 6298, 2.1). A kernel's timers may be early by a tick, so
// the SYNs that it repeated are asked for from half of it on: for each connection, that would cost more than the connection.
const lateHandshake = time.Second

// Late reports whether a handshake of that length lost a packet: its SYN was repeated, or it took lateHandshake.
// repeated returns how many segments the kernel has repeated, none if it does not say; it must be asked before
// the first data.
func Late(took time.Duration, repeated func() int64) bool {
	return took >= lateHandshake || took >= lateHandshake/2 && repeated() > 0
}

// ErrNoReply means that a connection had no answer in time.
var ErrNoReply = errors.New("did not answer")

// NoReplyError returns the error for a connection that took longer than ReplyTimeout. others
// is the number of connections before it.
func NoReplyError(addr netip.AddrPort, others int64) error {
	return fmt.Errorf("%s %w within %s on a connection that was opened after %d others", addr, ErrNoReply, ReplyTimeout(), others)
}

// Tries counts the connections that a client tried in a trial: see result.Attempts.
type Tries struct{ result.Attempts }

// Open counts a connection, which was late.
func (t *Tries) Open(late bool) {
	t.Tried++
	if late {
		t.Late++
	}
}

// Add counts the failure of a connection that is counted as tried.
func (t *Tries) Add(f Failure) {
	*[...]*int64{&t.TimedOut, &t.Refused, &t.Reset}[f]++
}

// Tally are counts by kind of failure.
type Tally [failures]int64

// String lists the kinds that occurred, such as "3 refused, 1 reset".
func (t Tally) String() string {
	return Listed(t[:], func(kind int) string { return Failure(kind).String() })
}

// Listed lists the kinds of failures that occurred, with how many there were of each.
func Listed(counts []int64, name func(kind int) string) string {
	var parts []string
	for kind, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name(kind)))
		}
	}
	return strings.Join(parts, ", ")
}

// PortRetry is how long a flow waits before it tries again to get a source port.
const PortRetry = 10 * time.Millisecond

// ReplyTimeout bounds the time from the start of a connection to its response.
func ReplyTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// NoSourcePort reports whether a connection failed for lack of a source port. Windows has its own
// error numbers (WSAEADDRINUSE, WSAEADDRNOTAVAIL).
func NoSourcePort(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	return errno == syscall.EADDRNOTAVAIL || errno == 10048 || errno == 10049
}

// MaxRefused is how many peers without the token are refused before the server fails, because
// something else is using the port.
const MaxRefused = 100

// TooManySilent returns the error for more open connections without a request than a trial can have.
func TooManySilent(open, flows int) error {
	return fmt.Errorf("%d connections without a request are open, but the trial has %s", open, unit.Count(flows, "flow", "flows"))
}
