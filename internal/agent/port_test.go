package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/traffic/admission"
)

// A port is found closed once its server has ended, and not while that answers.
func TestLapsed(t *testing.T) {
	t.Parallel()
	at := nstest.FreePort(t).String()
	k := wire.Probe{Network: "http", Address: at, Token: "token", Host: at}
	_, err := lapsed(t.Context(), k, func(wire.Sought) {})
	must.Fail(t, err, "no answer from "+at)

	ctx, closePort := context.WithCancel(t.Context())
	gate := must.Get(admission.Listen(at, "", maxProbeConns))(t)
	answered, respond := make(chan struct{}, 1), answerHTTPProbe("token")
	served := make(chan probeResult, 1)
	go func() {
		served <- answerTCPProbes(ctx, gate, func(ctx context.Context, conn admission.Stream) (ours, done bool) {
			if ours, done = respond(ctx, conn); done {
				select {
				case answered <- struct{}{}:
				default:
				}
			}
			return ours, done
		})
	}()
	reached := make(chan struct{})
	found, failed := make(chan wire.Sought, 1), make(chan error, 1)
	go func() {
		s, err := lapsed(t.Context(), k, func(wire.Sought) { close(reached) })
		found <- s
		failed <- err
	}()
	<-reached
	for range 2 * lapseAfter { // it goes on as long as it is answered
		<-answered
	}
	closePort()
	<-served
	s := <-found
	must.Do(t, <-failed)
	must.True(t, s.Connected > time.Duration(lapseAfter)*lapseStep && s.Connected <= s.Whole, "%+v", s) // that many had begun before, one in each step
}

// A port that is answered until the time is over is said to be open, and one that never was is not.
func TestStillOpen(t *testing.T) {
	t.Parallel()
	k := wire.Probe{Network: "http", Address: nstest.FreePort(t).String(), Token: "token", Host: "x"}
	over, end := context.WithCancelCause(t.Context())
	end(errors.New(stillAnswers))
	_, err := lapsed(over, k, nil)
	must.Fail(t, err, "no answer from "+k.Address)

	ctx, closePort := context.WithCancel(t.Context())
	gate := must.Get(admission.Listen(k.Address, "", maxProbeConns))(t)
	served := make(chan probeResult, 1)
	go func() { served <- answerTCPProbes(ctx, gate, answerHTTPProbe(k.Token)) }()
	open, end := context.WithCancelCause(t.Context())
	_, err = lapsed(open, k, func(wire.Sought) { end(errors.New(stillAnswers)) })
	must.Fail(t, err, stillAnswers)
	closePort()
	<-served
}
