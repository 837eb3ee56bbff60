package result

import "strings"

// Sensitivity is how far the ratio of a mode to its baseline depends on the settings of the generator: what the sensitivity pass
// measured for a mode with a workload. Low and High are the least and the greatest ratio over Settings that are not noisy.
type Sensitivity struct {
	Mode     string             `json:"mode"`
	Baseline string             `json:"baseline"`
	Workload string             `json:"workload"` // of the study
	Metric   string             `json:"metric"`   // the primary one of the workload
	Low      float64            `json:"low"`
	High     float64            `json:"high"`
	Settings []SensitivityPoint `json:"settings"` // at least two, that of the study first
}

// SensitivityPoint is the ratio with one setting.
type SensitivityPoint struct {
	Setting string    `json:"setting"`            // in words, such as "buffers of 256KiB"
	Ratio   float64   `json:"ratio"`              // of the mode to its baseline
	CI      *Interval `json:"interval,omitempty"` // 95 %; absent where it is unknown
	Blocks  int       `json:"blocks"`             // in which both were measured
	Noisy   bool      `json:"noisy,omitempty"`    // too imprecise to count in Low and High
}

// variedMark is in the names of the workloads of a sensitivity pass, after that of the workload which they vary. No name in a
// study contains it.
const variedMark = "~"

// Varied is the name of the workload of a sensitivity pass that varies a setting of the workload of.
func Varied(of, setting string) string { return of + variedMark + setting }

// VariedFrom returns the name of the workload that a workload of a sensitivity pass varies. For any other, it returns the name
// unchanged and false.
func VariedFrom(name string) (of string, varied bool) {
	of, _, varied = strings.Cut(name, variedMark)
	return of, varied
}
