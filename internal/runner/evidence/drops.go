package evidence

import (
	"fmt"
	"net/netip"
	"slices"

	"tare/internal/observe/drops"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// flowDrops is what asks the kernel why it drops what a trial sends.
type flowDrops struct {
	session *drops.Session
	flow    int      // of the trial in it
	missing []string // why what it says may be wrong
}

// WatchDrops makes ready to ask the kernel for drop reasons, where the run can lose
// datagrams and the study wants to know. What is lacking for it is told
// once, and the run goes on.
func (o *Observer) WatchDrops() {
	if o.cfg.Asked.Drops == study.Off || !o.counts() {
		return
	}
	if !o.local() {
		o.cfg.Warn(warning.NotObserved, "run", "no drop reasons: the path is on other machines, and tare reads only this kernel")
		return
	}
	w, err := drops.New("/proc")
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read drop reasons: %v", err)
		return
	}
	o.drops = w
}

// Close takes out of the kernel what WatchDrops put there.
func (o *Observer) Close() error {
	if o.drops == nil {
		return nil
	}
	return o.drops.Close()
}

// withDrops does what a group of trials does while the kernel is asked why it drops
// what they send.
func (o *Observer) withDrops(trials []*Trial, do func()) {
	if o.drops == nil || !OverUDP(trials[0].Planned.Workload) {
		do()
		return
	}
	session, err := o.drops.Start(len(trials))
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read drop reasons: %v", err)
		do()
		return
	}
	for i, t := range trials {
		t.drops = &flowDrops{session: session, flow: i}
	}
	do()
	if err := session.Stop(); err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read drop reasons: %v", err)
	}
}

// WatchEndpoints tells between which ends the traffic of a trial is, in place
// of those before, and that it is the trial's turn.
func (t *Trial) WatchEndpoints(ends []netip.AddrPort) {
	if t.drops != nil {
		t.drops.note(t.drops.session.Set(t.drops.flow, drops.Flow{Ends: ends}))
	}
}

// BeginSlice says that what comes now is the trial's, where its ends are not its alone.
func (t *Trial) BeginSlice() {
	if t.drops != nil && !t.Failed() {
		t.drops.note(t.drops.session.Turn(t.drops.flow))
	}
}

// without leaves reasons out by which a mode has the kernel drop what was not lost.
func (d *flowDrops) without(reasons []result.DropReason, discards []string) []result.DropReason {
	return slices.DeleteFunc(reasons, func(r result.DropReason) bool {
		if !slices.Contains(discards, r.Reason) {
			return false
		}
		d.note(fmt.Errorf("drops by %s are not told apart: the mode has the kernel drop so what its own process has taken in", r.Reason))
		return true
	})
}

// note keeps what went wrong, once.
func (d *flowDrops) note(err error) {
	if err != nil && !slices.Contains(d.missing, err.Error()) {
		d.missing = append(d.missing, err.Error())
	}
}

// explain adds the kernel's reasons to a trial's account of what it lost. It is called
// behind the trial's last datagram.
func (t *Trial) explain() {
	if t.drops == nil || t.Record.Losses == nil {
		return
	}
	found, err := t.drops.session.Read(t.drops.flow)
	t.drops.note(err)
	found.Reasons = t.drops.without(found.Reasons, t.Mode.Path().IgnoredDropReasons)
	if found.Missing != "" {
		t.drops.missing = append(t.drops.missing, found.Missing)
	}
	if err == nil {
		drops.Explain(t.Record.Losses, found.Reasons)
	}
	t.Record.Losses.Missing = append(t.Record.Losses.Missing, t.drops.missing...)
}
