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

// DropWatcher counts why the kernel drops datagrams; see [drops.Watcher].
type DropWatcher interface {
	Start(flows int) (DropSession, error)
	Close() error
}

// DropSession counts for the trials of a group; see [drops.Session].
type DropSession interface {
	Set(flow int, f drops.Flow) error
	Turn(flow int) error
	Read(flow int) (drops.FlowDrops, error)
	Stop() error
}

// kernelDrops is the watcher of this machine's kernel.
type kernelDrops struct{ *drops.Watcher }

func (k kernelDrops) Start(flows int) (DropSession, error) { return k.Watcher.Start(flows) }

func openDrops() (DropWatcher, error) {
	w, err := drops.New("/proc")
	return kernelDrops{w}, err
}

// flowDrops records why the kernel drops what a trial sends.
type flowDrops struct {
	session DropSession
	flow    int      // of the trial in the session
	missing []string // why the reasons may be incomplete
}

// WatchDrops prepares to record the kernel's drop reasons if the run can lose datagrams
// and the study requires it. If that is not possible, it warns once and the run
// continues.
func (o *Observer) WatchDrops() {
	if o.cfg.Asked.Drops == study.Off || !o.counts() {
		return
	}
	if !o.local() {
		o.cfg.Warn(warning.NotObserved, "run", "no drop reasons: the path is on other machines, and tare reads only this kernel")
		return
	}
	w, err := o.cfg.OpenDrops()
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read drop reasons: %v", err)
		return
	}
	o.drops = w
}

// Close removes what WatchDrops loaded into the kernel.
func (o *Observer) Close() error {
	o.idleTimes.Close()
	if o.drops == nil {
		return nil
	}
	return o.drops.Close()
}

// recordDrops calls do for a group of trials while the kernel's drop reasons are
// recorded.
func (o *Observer) recordDrops(trials []*Trial, do func()) {
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

// WatchEndpoints sets the endpoints between which the traffic of a trial flows, replacing
// earlier ones, and begins its slice.
func (t *Trial) WatchEndpoints(ends []netip.AddrPort) {
	if t.drops != nil {
		t.drops.note(t.drops.session.Set(t.drops.flow, drops.Flow{Ends: ends}))
	}
}

// BeginSlice attributes the drops from now on to this trial, where its endpoints are
// shared with others.
func (t *Trial) BeginSlice() {
	if t.drops != nil && !t.Failed() {
		t.drops.note(t.drops.session.Turn(t.drops.flow))
	}
}

// without removes reasons with which a mode drops packets that were not lost.
func (d *flowDrops) without(reasons []result.DropReason, discards []string) []result.DropReason {
	return slices.DeleteFunc(reasons, func(r result.DropReason) bool {
		if !slices.Contains(discards, r.Reason) {
			return false
		}
		d.note(fmt.Errorf("drops with reason %s are ambiguous: the mode uses it for packets that its own process has received", r.Reason))
		return true
	})
}

// note records a problem once.
func (d *flowDrops) note(err error) {
	if err != nil && !slices.Contains(d.missing, err.Error()) {
		d.missing = append(d.missing, err.Error())
	}
}

// addDropReasons adds the kernel's drop reasons to a trial's losses. It must be called
// after the trial's last datagram.
func (t *Trial) addDropReasons() {
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
