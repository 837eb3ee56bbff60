package evidence

import (
	"context"
	"time"

	"tare/internal/observe/losses"
	"tare/internal/result"
	"tare/internal/timelimit"
)

// failureTime limits how long the evidence of a failed trial may take to read: its own time may be
// over.
func failureTime() time.Duration { return timelimit.Scaled(5 * time.Second) }

// ReadFailure reads around a failed trial what is read around others, as far as it has not been
// read: the counters of its network stacks and the kernel's drop reasons. It must be called while
// these are recorded, and does nothing where the study asks for no counters.
func (t *Trial) ReadFailure(ctx context.Context) {
	if len(t.stacks) == 0 || !t.Failed() || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, failureTime())
	defer cancel()
	if !t.readAfter {
		t.ReadStacksAfter(ctx)
	}
	if OverUDP(t.Planned.Workload) && t.Record.Losses == nil {
		l := losses.Failure{Stacks: t.lossStacks()}.Totals()
		l.Missing = append(l.Missing, "datagrams are counted by the network stacks: the endpoints did not report theirs")
		t.Record.Losses = &l
		t.addDropReasons()
	}
}

// lossStacks are the stacks of the path, those of its endpoints marked.
func (t *Trial) lossStacks() (all []losses.Stack) {
	for _, s := range t.stacks {
		var ends *losses.SocketTotals
		for _, p := range t.Mode.Path().Pairs {
			if p.Client.Stack == s.place.Name || p.Server.Stack == s.place.Name {
				ends = &losses.SocketTotals{}
			}
		}
		all = append(all, s.lossStack(ends))
	}
	return all
}

// Cause says where the packets of a failed trial were dropped and by what, from what ReadFailure
// read; empty if the evidence does not show it. size is that of each packet of the trial in bytes, 0
// if they differ.
func (t *Trial) Cause(ctx context.Context, size int) string {
	if !t.readAfter || ctx.Err() != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, failureTime())
	defer cancel()
	f := losses.Failure{Stacks: t.lossStacks(), Counted: t.counted(), Size: size}
	for i := range f.Stacks {
		f.Stacks[i].State = t.stacks[i].place.State(ctx, t.stacks[i].after)
	}
	return f.Cause()
}

// counted are the losses by the endpoints' own counts; nil if they did not report.
func (t *Trial) counted() *result.Losses {
	if !OverUDP(t.Planned.Workload) {
		return nil
	}
	return t.Record.Losses
}
