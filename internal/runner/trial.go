package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// trialGrace is what a trial may take beyond its traffic before the controller
// gives it up. It is more than the agents allow themselves, so that theirs, which
// knows more, is the reason given.
const trialGrace = 15 * time.Second

// voidError is a path that was not proven.
type voidError struct{ error }

// trial runs one trial. Its error is also the reason in the trial.
func (r *run) trial(ctx context.Context, s *stage, t plan.Trial, attempt int) (result.Trial, error) {
	out := result.Trial{
		Schema: result.TrialSchema, Seq: len(r.trials) + 1, Block: t.Block, Mode: t.Mode, Workload: t.Workload.ID,
		Attempt: attempt, Status: result.TrialOK,
	}
	began := time.Now()
	select {
	case <-time.After(r.plan.Settle):
	case <-ctx.Done():
		return out, ctx.Err()
	}
	out.Started = time.Now().UTC()
	out.Settle = time.Since(began).Seconds()
	began = time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, t.Traffic()+trialGrace, fmt.Errorf("the trial was given up %s after its traffic should have ended", trialGrace))
	defer cancel()
	err := r.weigh(ctx, s, t, &out)
	out.Elapsed = time.Since(began).Seconds()
	if err != nil {
		out.Status, out.Reason, out.Metrics, out.Series = result.TrialFailed, err.Error(), nil, nil
		if out.Void = errors.As(err, new(*voidError)); !out.Void {
			// Whatever state the agents are in, the next attempt gets new ones.
			_ = s.dismiss()
		}
	}
	return out, err
}

// weigh drives the traffic between two readings of the path's counters.
func (r *run) weigh(ctx context.Context, s *stage, t plan.Trial, out *result.Trial) error {
	if err := s.agents(ctx, r.cfg.Claim.ID); err != nil {
		return err
	}
	work, err := traffic.Named(t.Workload.Kind)
	if err != nil {
		return err
	}
	before, err := s.path.Snapshot(ctx)
	if err != nil {
		return err
	}
	session := r.watch.Start()
	clientSide, serverSide, err := r.params(s, t.Workload)
	if err != nil {
		return err
	}
	client, server, err := drive(ctx, s, clientSide, serverSide)
	figures, missing := session.Stop()
	for _, u := range missing {
		r.warn("not_observed", "run", "%s", u)
	}
	if err != nil {
		return err
	}
	after, err := s.path.Snapshot(ctx)
	if err != nil {
		return err
	}
	out.Machine = figures
	out.Traffic = max(client.Traffic, server.Traffic)
	out.Client, out.Server = end(client), end(server)
	if moved, err := before.Moved(after); err == nil {
		out.Counters = moved
	}
	if err := s.path.Prove(ctx, before, after, driver.CarriedBy(client, server)); err != nil {
		return &voidError{err}
	}
	out.Metrics, out.Series = work.Metrics(clientSide, client, server)
	return nil
}

// params resolves a workload for the two ends of a path.
func (r *run) params(s *stage, w study.Workload) (client, server traffic.Params, err error) {
	_, target := s.path.Ends()
	listen, dial, err := target.Reach(w.Family == study.IPv6)
	if err != nil {
		return client, server, err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return client, server, fmt.Errorf("draw the trial's token: %w", err)
	}
	p := traffic.Params{
		Kind: w.Kind, Token: hex.EncodeToString(token), Streams: w.Streams, WriteSize: int(w.WriteSize),
		NoDelay: w.NoDelay != nil && *w.NoDelay, Reverse: w.Direction == study.Reverse, Congestion: w.Congestion,
		SendBuffer: int(w.SendBuffer), ReceiveBuffer: int(w.ReceiveBuffer), Warmup: w.Warmup.Std(), Duration: w.Duration.Std(),
	}
	client, server = p, p
	client.CPU, server.CPU = place(w.Placement, r.cfg.CPUs)
	client.Address, server.Address = dial.String(), listen.String()
	return client, server, nil
}

// drive runs both ends of a trial.
func drive(ctx context.Context, s *stage, clientSide, serverSide traffic.Params) (client, server traffic.Report, err error) {
	port, err := s.server.Listen(ctx, serverSide)
	if err != nil {
		return client, server, err
	}
	if clientSide.Address, err = withPort(clientSide.Address, port); err != nil {
		return client, server, err
	}
	type answer struct {
		report traffic.Report
		err    error
	}
	served := make(chan answer, 1)
	go func() {
		rep, err := s.server.Report(ctx)
		served <- answer{rep, err}
	}()
	client, err = s.client.Dial(ctx, clientSide)
	if err != nil {
		// The server would wait for its own time limit. If it cannot be told,
		// it is ended by force right after this.
		_ = s.server.Abort(ctx)
		if a := <-served; a.err != nil && s.server.Gone() != nil {
			err = a.err // the server's end is what the client ran into
		}
		return client, server, err
	}
	a := <-served
	return client, a.report, a.err
}

// end is what a trial's record keeps of a report.
func end(rep traffic.Report) *result.End {
	e := &result.End{
		Congestion: rep.TCP.Congestion, SendBuffer: rep.SendBuffer, ReceiveBuffer: rep.ReceiveBuffer, MSS: rep.TCP.MSS,
		BytesSent: rep.Sent, BytesReceived: rep.Received,
	}
	if rep.CPU >= 0 {
		e.CPU = &rep.CPU
	}
	if rep.TCP.RTT > 0 {
		e.RTT = &rep.TCP.RTT
	}
	e.Retransmits = rep.Window.Retransmits
	return e
}
