package model

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/report/view/piece"
	"tare/internal/result"
)

// withProofs gives modes of older runs, which record no proofs, the counters of their last
// valid trial.
func withProofs(modes []result.Mode, trials []result.Trial) {
	last := map[string]result.Trial{}
	for _, t := range trials {
		if t.Status == result.TrialOK && len(t.Counters) > 0 {
			last[t.Mode] = t
		}
	}
	for i, m := range modes {
		t, ok := last[m.ID]
		if !ok || m.Proof != nil || m.Topology == nil || m.Status != result.ModeMeasured && m.Status != "" {
			continue
		}
		p := &result.Proof{Trial: t.Seq, Workload: t.Workload, Holds: true}
		counters := slices.Sorted(maps.Keys(t.Counters))
		for _, c := range counters {
			moved := t.Counters[c]
			p.Findings = append(p.Findings, result.Finding{Counter: c, Moved: &moved})
		}
		modes[i].Proof = p
		top := *m.Topology
		top.Nodes = piece.Each(top.Nodes, func(n result.Node) result.Node {
			if len(n.Counters) == 0 {
				n.Counters = countersOf(n, counters, t.Counters)
			}
			return n
		})
		modes[i].Topology = &top
	}
}

// countersOf finds the counters of a node by their names. Address translation has counters of
// other nodes; those did not move.
func countersOf(n result.Node, counters []string, moved map[string]uint64) (out []string) {
	at := strings.TrimSuffix(n.Host+"/"+n.Sandbox, "/")
	label, _, _ := strings.Cut(n.Label, " x ")
	for _, c := range counters {
		of, what := result.Of(c)
		if (of == at+"/"+label || n.Kind == "nat" && of == at+"/tare" && moved[c] > 0) && what != "carrier_changes" {
			out = append(out, c)
		}
	}
	return out
}
