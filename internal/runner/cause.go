package runner

import (
	"context"
	"errors"
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
// proven has its own reason.
func (tr *trialRun) explain(ctx context.Context) {
	if tr.err == nil || errors.As(tr.err, new(*voidError)) {
		return
	}
	cause := tr.observed.Cause(ctx, tr.packetSize())
	if path := tr.tested.path; path != nil {
		cause = joinCauses(cause, path.Sizes.String())
	}
	if cause != "" {
		tr.err = withCause(tr.err, cause)
	}
}

func joinCauses(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "; ")
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
)
