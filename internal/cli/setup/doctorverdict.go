package setup

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/cli/command"
	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
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
		if _, err := fmt.Fprintln(w, strings.Join(command.Wrapped(line, command.LineWidth-4), "\n    ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// backgroundLoadTime is how long doctor samples the background load.
const backgroundLoadTime = time.Second

// backgroundLoad is the current load by other programs and other guests, with a warning where
// it exceeds the default limits of a study for a trial that runs alone. Unknown loads are left
// out.
func backgroundLoad(ctx context.Context, limits study.Invalid) ([]result.Fact, []result.Warning) {
	session := observe.NewCollectorSet(observe.Collectors("/proc", observe.Own{PID: os.Getpid()})).Start()
	select {
	case <-time.After(backgroundLoadTime):
	case <-ctx.Done():
	}
	w := session.Stop()
	long := w.Metrics["clock_elapsed"]
	if long <= 0 {
		return nil, nil
	}
	var facts []result.Fact
	var warnings []result.Warning
	for _, what := range []struct {
		name         warning.Code
		figure, text string
		most         quantity.Share
	}{
		{warning.OthersNow, "others_cpu", "other programs use", limits.Others},
		{warning.StealNow, "cpu_steal", "the hypervisor takes", limits.Steal},
	} {
		used, known := w.Metrics[what.figure]
		if !known {
			continue
		}
		share, rest := fmt.Sprintf("%.0f %%", 100*used/long), ""
		if words := w.Notes[what.figure]; words != "" {
			rest = ", " + words
		}
		facts = append(facts, result.Fact{Name: string(what.name), Value: share + " of a CPU" + rest})
		if what.most.On() && used/long > what.most.Of {
			warnings = append(warnings, warning.New(what.name, "run",
				"%s %s of a CPU%s: trials that run alone would be invalid (above %.0f %%), interleaved trials share it. Wait, or use a quieter machine.", what.text, warning.Said(share), rest, 100*what.most.Of))
		}
	}
	return facts, warnings
}
