package agent

import (
	"context"
	"testing"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/testkit/must"
	"tare/internal/traffic/admission"
)

// A port is found closed once its server has ended, and not while that answers.
func TestLapsed(t *testing.T) {
	at := freePort(t)
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

// A port that stays open is said to be, when the time is over.
func TestStillOpen(t *testing.T) {
	reply := search(t.Context(), wire.Request{ID: 7, Wait: 1, Probe: &wire.Probe{Address: freePort(t), Token: "token"}}, "%s "+stillAnswers+" after %s", func(ctx context.Context, k wire.Probe) (wire.Sought, error) {
		return lapsed(ctx, k, nil)
	})
	must.Contain(t, reply.Error, "still answers after 1ns")
}
