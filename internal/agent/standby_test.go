package agent_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// A second server of a trial waits beside the first one. If either fails, the other and the client are cancelled; the first one ends once.
func TestStandby(t *testing.T) {
	t.Parallel()
	client, first, second := begin(t), begin(t), begin(t)
	p := long(params("http"))
	p.ResponseSize, p.KeepAlive, p.Duration = 100, "on", 5*time.Minute
	trial := must.Get(agent.Begin(t.Context(), client, first, p, p))(t)
	must.Fail(t, trial.Replace(t.Context()), "the trial has no second server")
	must.Do(t, trial.Standby(t.Context(), second, p))
	time.AfterFunc(200*time.Millisecond, func() { _ = second.Abort(t.Context()) })
	_, _, err := trial.Run(t.Context())
	must.Fail(t, err, "the controller cancelled the trial")

	// Requests to the first one fail when it has ended: nothing leads the client to the second.
	p.Duration, p.Progress = 3*time.Second, traffic.MinProgressInterval
	p.TransactionRate, p.Event = 100, "endpoint_replaced"
	trial = must.Get(agent.Begin(t.Context(), client, first, p, p))(t)
	must.Do(t, trial.Standby(t.Context(), second, p))
	replaced := make(chan error, 1)
	var once sync.Once // when the first one has answered
	client.Watch(func(traffic.Progress) { once.Do(func() { go func() { replaced <- trial.Replace(t.Context()) }() }) })
	_, _, err = trial.Run(t.Context())
	must.Fail(t, err, "the event had not happened")
	must.Do(t, <-replaced)
	must.Fail(t, trial.Replace(t.Context()), "or has ended")
	one, other := trial.Turns()
	if one.Messages == 0 || other.Messages > 0 {
		t.Errorf("the first server answered %d requests, and the second %d", one.Messages, other.Messages)
	}

	// A server that is killed is the reason, whichever it is.
	for _, dies := range []*agent.Client{second, first} {
		p := p
		p.Duration, p.TransactionRate, p.Event = 5*time.Minute, 0, ""
		trial := must.Get(agent.Begin(t.Context(), client, first, p, p))(t)
		must.Do(t, trial.Standby(t.Context(), second, p))
		time.AfterFunc(200*time.Millisecond, func() {
			if p, err := os.FindProcess(dies.Hello.PID); err == nil {
				_ = p.Kill()
			}
		})
		_, _, err := trial.Run(t.Context())
		must.Fail(t, err, "killed")
		second = begin(t)
	}
}
