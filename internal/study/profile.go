package study

import "time"

// profile is what a profile's name stands for, apart from the lengths of
// trials, which each workload has of its own (see WorkloadSpec).
type profile struct {
	blocks int
	margin float64
	settle Duration
}

// Profiles lists the profiles, the shortest first. The first is the default.
func Profiles() []string { return []string{Quick, Standard, Paper} }

// profileOf gives a profile's parameters; quick for a name it does not know.
func profileOf(name string) profile {
	const wait = Duration(300 * time.Millisecond)
	switch name {
	case Standard:
		// Fixed until blocks are added as the intervals need them, up to 12.
		return profile{blocks: 8, margin: 0.05, settle: wait}
	case Paper:
		return profile{blocks: 10, margin: 0.05, settle: Duration(2 * time.Second)}
	}
	return profile{blocks: 4, margin: 0.10, settle: wait}
}

// labDefaults is the lab of a study that says nothing about it: Ethernet's MTU,
// offloads as a real host has them, no rate limit.
func labDefaults() Lab { return Lab{MTU: 1500, Offload: On} }
