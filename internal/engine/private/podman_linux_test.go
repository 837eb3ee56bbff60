package private

import (
	"testing"

	"tare/internal/testkit/must"
)

// What is to be installed is the package of a missing program.
func TestDebianPackage(t *testing.T) {
	for program, want := range map[string]string{"conmon": "conmon", "nft": "nftables", "pasta": "passt", "rootlessport": "podman"} {
		must.EqualFor(t, program, want, debianPackage(program))
	}
}
