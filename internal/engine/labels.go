package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
)

// LabelMachine names the machine that a run is controlled from. Which runs are alive
// can be told only there, and an engine may serve several machines.
const LabelMachine = "io.tare.machine"

// machine is this machine's name, for LabelMachine.
func machine() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unknown"
	}
	return name
}

// machineTag is what of the machine's name goes into an image's tag, where not every
// character may.
func machineTag() string {
	sum := sha256.Sum256([]byte(machine()))
	return hex.EncodeToString(sum[:4])
}

// labels mark an object of a run.
func labels(run, part string) map[string]string {
	return map[string]string{LabelRun: run, LabelPart: part, LabelMachine: machine()}
}

// deadRun is the run of this machine that an object with these labels belongs to,
// "" if there is none or it is alive. A container of the user's that was made from
// this program's image has inherited an image's labels, and is the user's.
func deadRun(labels map[string]string, alive []string) string {
	run := labels[LabelRun]
	if labels[LabelMachine] != machine() || labels[LabelPart] == partImage || slices.Contains(alive, run) {
		return ""
	}
	return run
}
