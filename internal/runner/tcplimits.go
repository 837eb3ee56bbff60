package runner

import (
	"fmt"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// way is one direction of payload, with its sender.
type way struct {
	sender   string // client or server
	from, to traffic.Report
}

// ways are the directions in which a trial's payload flows.
func ways(p traffic.Params, client, server traffic.Report) []way {
	forward, reverse := way{"client", client, server}, way{"server", server, client}
	switch {
	case p.Both:
		return []way{forward, reverse}
	case p.Reverse:
		return []way{reverse}
	}
	return []way{forward}
}

// limitsOf says of each sender of a trial who kept its TCP from being faster: mean
// shares over its streams, pairs and slices. A sender of which nothing is known is
// left out.
func limitsOf(p traffic.Params, client, server traffic.Report) (out []result.TCPLimits) {
	for _, w := range ways(p, client, server) {
		l := w.from.Window.Limits
		if l == nil || l.Seconds <= 0 {
			continue
		}
		share := func(seconds float64) *float64 { v := seconds / l.Seconds; return &v }
		out = append(out, result.TCPLimits{
			Sender: w.sender, Application: share(l.Application), ReceiveWindow: share(l.ReceiveWindow), SendBuffer: share(l.SendBuffer), Network: share(l.Network),
		})
	}
	return out
}

// limitTCP sums up the trials that count, for each mode and TCP workload that
// transfers in bulk. Where nothing is known of any trial, it says why.
func (r *run) limitTCP() []result.TCPLimits {
	if r.cfg.Study.Evidence.Counters == study.Off {
		return nil
	}
	var out []result.TCPLimits
	for _, w := range r.plan.Workloads {
		for _, s := range r.stages {
			var trials []result.Trial
			for _, t := range r.trials {
				if t.Mode == s.mode.ID && t.Workload == w.ID && t.Status == result.TrialOK && !t.Aside() {
					trials = append(trials, t)
				}
			}
			if len(trials) > 0 && tcpBulk(w) {
				out = append(out, sumLimits(s.mode.ID, w, trials)...)
			}
		}
	}
	return out
}

// tcpBulk says whether a workload is one in which TCP sends as much as it can.
func tcpBulk(w study.Workload) bool { return w.Kind == "tcp_stream" }

// sumLimits is the mean of the shares and the sum of the counts of trials of one mode
// and workload, for each sender.
func sumLimits(mode string, w study.Workload, trials []result.Trial) []result.TCPLimits {
	var out []result.TCPLimits
	for _, way := range ways(params(plan.Trial{Workload: w}), traffic.Report{}, traffic.Report{}) {
		sum := result.TCPLimits{Mode: mode, Workload: w.ID, Sender: way.sender}
		var mean traffic.Limits
		for _, t := range trials {
			for _, l := range t.Limits {
				if l.Sender != way.sender {
					continue
				}
				if l.Retransmits != nil && sum.Retransmits == nil {
					sum.Retransmits = map[string]int64{} // a count, if of nothing
				}
				for cause, n := range l.Retransmits {
					sum.Retransmits[cause] += n
				}
				if l.Application == nil || l.ReceiveWindow == nil || l.SendBuffer == nil || l.Network == nil {
					continue
				}
				sum.Trials++
				mean.Application += *l.Application
				mean.ReceiveWindow += *l.ReceiveWindow
				mean.SendBuffer += *l.SendBuffer
				mean.Network += *l.Network
			}
		}
		if n := float64(sum.Trials); n > 0 {
			share := func(v float64) *float64 { v /= n; return &v }
			sum.Application, sum.ReceiveWindow, sum.SendBuffer, sum.Network = share(mean.Application), share(mean.ReceiveWindow), share(mean.SendBuffer), share(mean.Network)
		} else {
			sum.Missing = append(sum.Missing, noLimits(way.sender, trials[0]))
		}
		out = append(out, sum)
	}
	return out
}

// noLimits says why nobody knows who limited a sender.
func noLimits(sender string, t result.Trial) string {
	if t.Tool != nil {
		return fmt.Sprintf("who limited TCP: the connections are %s's own, which does not tell", t.Tool.Name)
	}
	return fmt.Sprintf("who limited TCP: the kernel of the %s does not tell (TCP_INFO of Linux 4.10 and later does)", sender)
}
