package study

import (
	"fmt"

	"tare/internal/result"
	"tare/internal/unit"
)

// MaxTrials is the maximum number of trials of a study, without its pilots. A run of them
// takes more than a day, and a report of them stays below 256 MB of memory, also if the run
// was killed.
const MaxTrials = 50_000

// Trials is how many trials a resolved study has with its maximum number of blocks: those
// of every mode with every workload, with each value of a sweep, with the verification of a
// workload, with the cost pass and with the sensitivity pass. Pilots and repeated trials are not among them.
func (s Study) Trials() int {
	n := s.CostPass.Blocks(s.Blocks)
	for _, v := range s.Sensitivities() {
		n += v.Blocks(s.Blocks)
	}
	for _, w := range s.Workloads {
		n += w.variants() * w.Blocks(s.Blocks)
	}
	return n * len(s.Modes)
}

// variants is under how many names workloads are in results.
func (s Study) variants() int {
	n := 0
	for _, w := range s.Workloads {
		n += w.variants()
	}
	return n
}

// tooLarge is why the study is refused, or empty.
func (s Study) tooLarge() string {
	if n := s.Trials(); n > MaxTrials {
		return s.tooMany(n)
	}
	if n := len(s.Modes) * s.variants(); n > result.MaxPairs {
		return fmt.Sprintf("the study has %s and %s, %d pairs of them, more than the maximum of %d: set fewer modes or workloads",
			unit.Count(len(s.Modes), "mode", "modes"), unit.Count(s.variants(), "workload", "workloads"), n, result.MaxPairs)
	}
	return ""
}

// variants is under how many names a workload is in results.
func (w Workload) variants() int {
	_, list := w.Concurrency()
	n := max(1, len(w.Rates), len(list))
	if w.VerifyWith != "" {
		n += max(1, len(list))
	}
	return n
}

// tooMany is why a study of n trials is refused, with what to reduce.
func (s Study) tooMany(n int) string {
	fix := "fewer modes or workloads"
	if most := int(int64(s.Blocks) * MaxTrials / int64(n)); most >= 2 {
		fix = fmt.Sprintf("at most %d blocks, or %s", most, fix)
	}
	return fmt.Sprintf("the study has %d trials (%s x %s x %s), more than the maximum of %d: set %s",
		n, unit.Count(len(s.Modes), "mode", "modes"), unit.Count(s.variants(), "workload", "workloads"), unit.Count(s.Blocks, "block", "blocks"), MaxTrials, fix)
}
