package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/runner/evidence"
	"tare/internal/study"
)

// causedError is the error of a failed trial with the cause that its evidence shows.
type causedError struct {
	error
	text string
}

func (e *causedError) Error() string { return e.text }
func (e *causedError) Unwrap() error { return e.error }

// withCause adds a cause to an error, in place of advice that is given only while the cause is
// unknown.
func withCause(err error, cause string) error {
	text := err.Error()
	var advice *driver.AdviceError
	if errors.As(err, &advice) {
		text = strings.Replace(text, advice.Error(), advice.Err.Error(), 1)
	}
	return &causedError{err, text + ": " + cause}
}

// explain adds to the error of a failed trial where its packets were dropped. A path that is not
// proven has its own reason, and so has a trial that was too short.
func (tr *trialRun) explain(ctx context.Context) {
	if tr.err == nil || errors.As(tr.err, new(*voidError)) || errors.As(tr.err, new(*heldError)) || errors.As(tr.err, new(*tooShortError)) || errors.As(tr.err, new(*sliceError)) {
		return
	}
	cause := tr.observed.Cause(ctx, tr.packetSize())
	if path := tr.tested.path; path != nil && tr.sendsLarger(path.Sizes.Passed) {
		cause = withSizes(cause, path.Sizes)
	}
	if cause != "" {
		tr.err = withCause(tr.err, cause)
	}
}

// sendsLarger reports whether packets of the trial are larger than a size in bytes: a stream's are as
// large as the path lets them be.
func (tr *trialRun) sendsLarger(size int) bool {
	w := tr.Workload
	return w.Kind == "tcp_stream" || int(max(w.PayloadSize, w.RequestSize, w.LargestResponse()))+ipv6Header+tcpHeader > size
}

// withSizes adds to a cause which packets passed when the path was set up, if others did not.
func withSizes(cause string, s driver.PacketSizes) string {
	if s.Dropped == 0 {
		return cause
	}
	if cause == "" {
		return s.String()
	}
	return fmt.Sprintf("%s; those of %d bytes passed when the path was set up", cause, s.Passed)
}

// packetSize is the size of each packet of a workload that sends datagrams of one size, with its
// headers, in bytes; 0 for others.
func (tr *trialRun) packetSize() int {
	w := tr.Workload
	switch {
	case w.PayloadSize <= 0 || !evidence.OverUDP(w):
		return 0
	case w.Family == study.IPv6:
		return int(w.PayloadSize) + ipv6Header + udpHeader
	}
	return int(w.PayloadSize) + ipv4Header + udpHeader
}

// The sizes of headers without options, in bytes.
const (
	ipv4Header = 20
	ipv6Header = 40
	udpHeader  = 8
	tcpHeader  = 20
)
