package engine

import "slices"

// labels mark an object of a run.
func labels(run, part string) map[string]string {
	return map[string]string{LabelRun: run, LabelPart: part, LabelMachine: machineID()}
}

// deadRun is the run of this machine that an object with these labels belongs to,
// "" if there is none or it is alive. A container of the user's that was made from
// this program's image has inherited an image's labels, and is the user's.
func deadRun(labels map[string]string, alive []string) string {
	run := labels[LabelRun]
	if labels[LabelMachine] != machineID() || labels[LabelPart] == partImage || slices.Contains(alive, run) {
		return ""
	}
	return run
}
