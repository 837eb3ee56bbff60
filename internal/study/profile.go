package study

import (
	"time"

	"tare/internal/study/quantity"
)

// profile contains the parameters of a profile, except the lengths of trials, which each
// workload defines (see WorkloadSpec).
type profile struct {
	blocks   int  // in a run with a fixed number
	wholes   int  // the same if trials of a workload run at once: these are longer
	most     int  // in a run that stops on width
	adaptive bool // stops on width by default
	margin   float64
	settle   quantity.Wait
	pilot    quantity.Wait
	recreate Recreate
	lengths  bool // the run may choose the length of bulk trials from its own variance
}

// Profiles lists the profiles, the shortest first. The first is the default.
func Profiles() []string { return []string{Quick, Standard, Paper} }

// profileOf returns a profile's parameters; those of quick for an unknown name.
func profileOf(name string) profile {
	wait := quantity.WaitOf(300 * time.Millisecond)
	switch name {
	case Standard:
		return profile{most: 20, adaptive: true, margin: 0.05, settle: wait, pilot: quantity.WaitOf(10 * time.Second), recreate: RecreateAuto(), lengths: true}
	case Paper:
		// Its trials are long enough to serve as pilots.
		return profile{blocks: 10, wholes: 10, most: 10, margin: 0.05, settle: quantity.WaitOf(2 * time.Second), pilot: quantity.WaitOf(0), recreate: RecreateEvery(1)}
	}
	return profile{blocks: 7, wholes: 4, most: 20, margin: 0.10, settle: quantity.WaitOf(100 * time.Millisecond), pilot: quantity.WaitOf(0), recreate: RecreateAuto()}
}

// stopDefaults is the stopping rule of a run that stops on width, if the study does not
// set it.
func stopDefaults() Stop { return Stop{MinBlocks: 5, Width: 0.025, EffectWidth: 0.05, ExtraBlocks: 2} }

// InvalidDefaults are the rules of every profile.
func InvalidDefaults() Invalid {
	return Invalid{Steal: quantity.ShareOf(0.02), Others: quantity.ShareOf(0.05), CPUWait: quantity.ShareOf(0.1), Unsettled: On, Most: quantity.ShareOf(0.2)}
}

// The bounds within which a run may choose the length of a bulk trial.
const (
	ShortestChosen = quantity.Duration(time.Second)
	LongestChosen  = quantity.Duration(15 * time.Second)
)

// labDefaults is the default lab: Ethernet's MTU, offloads as on a real host, no rate
// limit.
func labDefaults() Lab { return Lab{MTU: 1500, Offload: On} }

// SchemaDefaults are the defaults in the JSON Schema: those of the profile standard.
func SchemaDefaults() (Lab, *Stop, Invalid, Evidence, CostPass) {
	stop := stopDefaults()
	return labDefaults(), &stop, InvalidDefaults(), evidenceDefaults(), passDefaults(Standard)
}
