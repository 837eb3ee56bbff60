package wireguard_test

import (
	"testing"

	"tare/internal/testkit/tunneltest"
)

// A killed run takes its processes with it.
func TestEnginesKilledRun(t *testing.T) {
	tunneltest.KilledRun(t, "wireguard/userspace", "wireguard/userspace")
}
