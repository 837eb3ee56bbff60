//go:build linux

package netns

import "tare/internal/driver/pathspec"

func process(at place) pathspec.Step { return pathspec.ProcessStep(at.Place) }
func nat(at place, l string) pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(at.Place, "nat", l), at.At+"/"+table)
}
func device(at place, d string) pathspec.Step {
	return pathspec.DeviceStep(at.Place, pathspec.Device{Name: d})
}
func own(s pathspec.Step) pathspec.Step { return pathspec.PerPair(s) }
