package section

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/wording"
)

// tellingLimit is the upper limit of a share, up to which that no connection failed is said: of few connections
// it says nothing.
const tellingLimit = 0.01

// Failures are the connections that failed, and those whose handshake lost a packet, by workload and mode.
func Failures(b *model.Builder) []doc.Block {
	l := doc.List{}
	for _, text := range failures(b.View) {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "failures", Head: doc.Heading{Text: "Connections that failed"}, Nav: "Failures", Blocks: []doc.Block{l}}}
}

func failures(v model.View) []string {
	all := piece.Ordered(v.Modes, v.Run.Attempts, func(a result.AttemptSummary) string { return a.Mode })
	var out []string
	for _, id := range piece.WorkloadsIn(v.Run.Attempts, func(a result.AttemptSummary) string { return a.Workload }) {
		var clean []result.AttemptSummary
		for _, a := range all {
			switch {
			case a.Workload != id || a.Tried < 1 || !a.Valid():
			case a.Failed()+a.Late > 0:
				out = append(out, id+", "+a.Mode+": "+failed(a))
			default:
				clean = append(clean, a)
			}
		}
		if len(clean) > 0 {
			if text := noneFailed(clean); text != "" {
				out = append(out, id+", "+text)
			}
		}
	}
	return out
}

// noneFailed is a line for the modes without a failure; empty if they have too few connections for one.
func noneFailed(modes []result.AttemptSummary) string {
	least := slices.MinFunc(modes, func(a, b result.AttemptSummary) int { return cmp.Compare(a.Tried, b.Tried) })
	if !(least.FailedShare.High <= tellingLimit) {
		return ""
	}
	var names []string
	for _, a := range modes {
		names = append(names, a.Mode)
	}
	text := strings.Join(names, ", ") + ": none of " + unit.Grouped(least.Tried)
	if len(modes) > 1 {
		text += " or more"
	}
	return text + " connections failed, at most " + smallShare(least.FailedShare.High)
}

// failed describes the connections of a mode, of which some failed or were late.
func failed(a result.AttemptSummary) string {
	var kinds []string
	for _, k := range []struct {
		n    int64
		name string
	}{{a.TimedOut, "timed out"}, {a.Refused, "refused"}, {a.Reset, "reset"}} {
		if k.n > 0 {
			kinds = append(kinds, unit.Grouped(k.n)+" "+k.name)
		}
	}
	of := " of " + unit.Grouped(a.Tried) + " connections"
	text := "none" + of + " failed, at most " + smallShare(a.FailedShare.High)
	if a.Failed() > 0 {
		text = unit.Grouped(a.Failed()) + of + " failed, " + shareWithLimits(a.FailedShare) + ": " + strings.Join(kinds, ", ")
	}
	if a.Late > 0 {
		text += fmt.Sprintf("; %s late, %s: a SYN or its answer was lost", unit.Grouped(a.Late), shareWithLimits(a.LateShare))
	}
	if a.Setups == 1 {
		text += "; all of one set-up, so the limits hold for it alone"
	}
	return text
}

// shareWithLimits is a share in percent with its interval.
func shareWithLimits(s result.Share) string {
	return smallShare(s.Value) + " (" + strings.TrimSuffix(smallShare(s.Low), " %") + " to " + smallShare(s.High) + ")"
}

// smallShare is a share in percent; unknown if it is none.
func smallShare(x float64) string {
	if !piece.Finite(&x) || x < 0 || x > 1 {
		return wording.Unknown
	}
	return wording.SmallPercent(x)
}
