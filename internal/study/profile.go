package study

import "time"

// profile is what a profile's name stands for, apart from the lengths of
// trials, which each workload has of its own (see WorkloadSpec).
type profile struct {
	blocks   int  // in a run that has a fixed number
	most     int  // in one that stops on width
	adaptive bool // stops on width by itself
	margin   float64
	settle   Wait
	pilot    Wait
	renew    Renew
	lengths  bool // a bulk trial's length may be chosen by the run's own variance
}

// Profiles lists the profiles, the shortest first. The first is the default.
func Profiles() []string { return []string{Quick, Standard, Paper} }

// profileOf gives a profile's parameters; quick for a name it does not know.
func profileOf(name string) profile {
	wait := WaitOf(300 * time.Millisecond)
	switch name {
	case Standard:
		return profile{most: 12, adaptive: true, margin: 0.05, settle: wait, pilot: WaitOf(15 * time.Second), renew: RenewAuto(), lengths: true}
	case Paper:
		// Its trials are long enough to be pilots themselves.
		return profile{blocks: 10, most: 10, margin: 0.05, settle: WaitOf(2 * time.Second), pilot: WaitOf(0), renew: RenewEvery(1)}
	}
	return profile{blocks: 4, most: 12, margin: 0.10, settle: wait, pilot: WaitOf(0), renew: RenewOnce()}
}

// stopDefaults is how a run stops on width that does not say how.
func stopDefaults() Stop { return Stop{MinBlocks: 5, Width: 0.025, ExtraBlocks: 2} }

// InvalidDefaults are the rules of every profile.
func InvalidDefaults() Invalid {
	return Invalid{Steal: ShareOf(0.02), Others: ShareOf(0.05), Unsettled: On, Most: ShareOf(0.2)}
}

// The bounds between which a run may choose the length of a bulk trial.
const (
	ShortestChosen = Duration(2 * time.Second)
	LongestChosen  = Duration(15 * time.Second)
)

// labDefaults is the lab of a study that says nothing about it: Ethernet's MTU,
// offloads as a real host has them, no rate limit.
func labDefaults() Lab { return Lab{MTU: 1500, Offload: On} }

// SchemaDefaults are the defaults that the JSON Schema tells of: those of the profile
// standard.
func SchemaDefaults() (Lab, *Stop, Invalid, Evidence, CostPass) {
	stop := stopDefaults()
	return labDefaults(), &stop, InvalidDefaults(), evidenceDefaults(), passDefaults(Standard)
}
