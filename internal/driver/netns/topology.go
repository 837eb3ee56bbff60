//go:build linux

package netns

import (
	"slices"

	"tare/internal/driver/pathspec"
)

func processStep(at place) pathspec.Step { return pathspec.ProcessStep(at.Place) }
func natStep(at place, l string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(at.Place, "nat", l), at.At+"/"+table)
}
func ruleStep(at place, l string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(at.Place, "rule", l), at.At+"/"+table)
}
func deviceStep(at place, d string) pathspec.Step {
	return pathspec.DeviceStep(at.Place, pathspec.Device{Name: d})
}
func perPair(s pathspec.Step) pathspec.Step { return pathspec.PerPair(s) }

// endSteps are the steps from an endpoint in a sandbox to the other end of its device, which
// is a port of the place on.
func endSteps(end, on place, port string) []pathspec.Step {
	return []pathspec.Step{processStep(end), perPair(deviceStep(end, eth)), perPair(deviceStep(on, port))}
}

func reversed(steps []pathspec.Step) []pathspec.Step {
	out := slices.Clone(steps)
	slices.Reverse(out)
	return out
}
