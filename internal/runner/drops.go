package runner

import (
	"fmt"
	"slices"

	"tare/internal/observe/drops"
	"tare/internal/result"
	"tare/internal/study"
)

// laneDrops is what asks the kernel why it drops what a lane sends.
type laneDrops struct {
	session *drops.Session
	flow    int      // of the lane in it
	missing []string // why what it says may be wrong
}

// watchDrops makes ready to ask the kernel for drop reasons, where a workload of the
// run can lose datagrams and the study wants to know. What is lacking for it is told
// once, and the run goes on.
func (r *run) watchDrops() {
	e := r.cfg.Study.Evidence
	if e.Drops == study.Off || e.Counters == study.Off || !slices.ContainsFunc(r.plan.Workloads, overUDP) {
		return
	}
	if !r.cfg.Ground.Local() {
		r.warn("not_observed", "run", "drop reasons: the path is on other machines, whose kernels are not asked")
		return
	}
	w, err := drops.New("/proc")
	if err != nil {
		r.warn("not_observed", "run", "drop reasons: %v", err)
		return
	}
	r.drops = w
}

// forgetDrops takes out of the kernel what watchDrops put there.
func (r *run) forgetDrops() error {
	if r.drops == nil {
		return nil
	}
	return r.drops.Close()
}

// withDrops does what a group of lanes does while the kernel is asked why it drops
// what they send.
func (r *run) withDrops(lanes []*lane, do func()) {
	if r.drops == nil || !overUDP(lanes[0].Workload) {
		do()
		return
	}
	session, err := r.drops.Start(len(lanes))
	if err != nil {
		r.warn("not_observed", "run", "drop reasons: %v", err)
		do()
		return
	}
	for i, l := range lanes {
		l.drops = &laneDrops{session: session, flow: i}
	}
	do()
	if err := session.Stop(); err != nil {
		r.warn("not_observed", "run", "drop reasons: %v", err)
	}
}

// watchEnds tells between which ends the traffic of some of a lane's pairs is, in place
// of those before, and that it is the lane's turn.
func (l *lane) watchEnds(pairs ...*pair) {
	if l.drops == nil {
		return
	}
	var f drops.Flow
	for _, p := range pairs {
		f.Ends = append(f.Ends, p.trial.Ends()...)
	}
	l.drops.note(l.drops.session.Set(l.drops.flow, f))
}

// takeTurn says that what comes now is the lane's, where its ends are not its alone.
func (l *lane) takeTurn() {
	if l.drops != nil && l.err == nil {
		l.drops.note(l.drops.session.Turn(l.drops.flow))
	}
}

// without leaves reasons out by which a mode has the kernel drop what was not lost.
func (d *laneDrops) without(reasons []result.DropReason, discards []string) []result.DropReason {
	return slices.DeleteFunc(reasons, func(r result.DropReason) bool {
		if !slices.Contains(discards, r.Reason) {
			return false
		}
		d.note(fmt.Errorf("drops by %s are not told apart: the mode has the kernel drop so what its own process has taken in", r.Reason))
		return true
	})
}

// note keeps what went wrong, once.
func (d *laneDrops) note(err error) {
	if err != nil && !slices.Contains(d.missing, err.Error()) {
		d.missing = append(d.missing, err.Error())
	}
}

// explain adds the kernel's reasons to a lane's account of what it lost. It is called
// behind the trial's last datagram.
func (l *lane) explain() {
	if l.drops == nil || l.out.Losses == nil {
		return
	}
	found, err := l.drops.session.Read(l.drops.flow)
	l.drops.note(err)
	found.Reasons = l.drops.without(found.Reasons, l.stage.path.Discards)
	if found.Missing != "" {
		l.drops.missing = append(l.drops.missing, found.Missing)
	}
	if err == nil {
		drops.Explain(l.out.Losses, found.Reasons)
	}
	l.out.Losses.Missing = append(l.out.Losses.Missing, l.drops.missing...)
}
