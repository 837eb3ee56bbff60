package runid

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// MachineID identifies this machine among those that control runs on the same engine or cluster.
// It is a hash, so that the machine's id is not disclosed.
func MachineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		id = nil // the name alone then, as on other systems
	}
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	sum := sha256.Sum256(append(id, name...))
	return hex.EncodeToString(sum[:4])
}
