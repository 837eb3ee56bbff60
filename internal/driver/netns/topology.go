//go:build linux

package netns

import "tare/internal/driver/pathspec"

func processStep(at place) pathspec.Step { return pathspec.ProcessStep(at.Place) }
func natStep(at place, l string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(at.Place, "nat", l), at.At+"/"+table)
}
func deviceStep(at place, d string) pathspec.Step {
	return pathspec.DeviceStep(at.Place, pathspec.Device{Name: d})
}
func perPair(s pathspec.Step) pathspec.Step { return pathspec.PerPair(s) }
