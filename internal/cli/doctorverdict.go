package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// suitability is what doctor says of one kind of results.
type suitability struct {
	Of      string   `json:"of"`
	Verdict string   `json:"verdict"` // one of the below
	Because []string `json:"because"` // codes of the warnings that decide it, empty without one
	Why     string   `json:"why"`
}

// The verdicts.
const (
	suitable   = "fine"
	wider      = "fine, with wider intervals"
	unsuitable = "no"
	notNow     = "not under this load"
	unknownNow = "unknown"
)

// suitabilities are the verdicts on this machine, from its warnings. loadKnown tells whether the CPU time that other
// programs use could be read.
func suitabilities(warnings []result.Warning, loadKnown bool) []suitability {
	biasing := codesOf(warnings, func(e warning.Entry) bool { return e.Severity == warning.Bias })
	load := codesOf(warnings, func(e warning.Entry) bool { return e.Code == warning.OthersNow || e.Code == warning.StealNow })
	changing := codesOf(warnings, func(e warning.Entry) bool {
		// These notes leave a comparison as it is and change every value.
		return e.Severity != warning.Note || slices.Contains([]warning.Code{warning.VirtualMachine, warning.InContainer, warning.MitigationsOff}, e.Code)
	})
	ratios := suitability{Of: "ratios", Verdict: suitable, Because: biasing, Why: "modes are measured interleaved and share what the machine does"}
	switch {
	case len(biasing) > 0:
		ratios.Verdict, ratios.Why = unsuitable, "a comparison is biased, as the warnings below say"
	case len(load) > 0:
		ratios.Verdict, ratios.Because, ratios.Why = wider, load, "interleaved trials share the load"
	}
	values := suitability{Of: "absolute values", Verdict: suitable, Because: changing, Why: "nothing found that changes them"}
	if len(changing) > 0 {
		values.Verdict, values.Why = unsuitable, "they are those of this machine as it is now"
	}
	// Datagrams at a fixed rate are measured by one mode at a time, and a CPU that another program has loses them.
	udp := suitability{Of: "UDP at a fixed rate", Verdict: suitable, Because: load, Why: "trials that run alone are valid"}
	switch {
	case len(biasing) > 0:
		udp.Verdict, udp.Because, udp.Why = unsuitable, biasing, ratios.Why
	case len(load) > 0:
		udp.Verdict, udp.Why = notNow, "trials that run alone would be invalid"
	case !loadKnown:
		udp.Verdict, udp.Why = unknownNow, "the CPU time of other programs could not be read here"
	}
	return []suitability{ratios, values, udp}
}

// codesOf lists the codes of the warnings that pick accepts, each once. A code that is not in the registry is left out.
func codesOf(warnings []result.Warning, pick func(warning.Entry) bool) []string {
	codes := []string{}
	for _, w := range warnings {
		if e, _, known := warning.Find(w.Code); known && pick(e) && !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// printSuitability prints the verdicts.
func (d *diagnosis) printSuitability(w io.Writer) error {
	for _, s := range d.Verdicts {
		line := fmt.Sprintf("%s: %s; %s", s.Of, s.Verdict, s.Why)
		if len(s.Because) > 0 {
			line += " (" + strings.Join(s.Because, ", ") + ")"
		}
		if _, err := fmt.Fprintln(w, strings.Join(wrapped(line, lineWidth-4), "\n    ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
