package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// machineID tells this machine from others that are guests of the same engine. It
// is a hash, because the machine's own id is nobody else's business.
func machineID() string {
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
