//go:build linux

package netns

import "tare/internal/driver/notes"

func process(at place) notes.Step { return notes.ProcessAt(at.Place) }
func nat(at place, l string) notes.Step {
	return notes.By(notes.Rule(at.Place, "nat", l), at.At+"/"+table)
}
func device(at place, d string) notes.Step { return notes.DeviceAt(at.Place, notes.Device{Name: d}) }
func own(s notes.Step) notes.Step          { return notes.Own(s) }
