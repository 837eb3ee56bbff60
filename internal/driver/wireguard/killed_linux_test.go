package wireguard_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/tunnel/tunneltest"
	"tare/internal/driver/wireguard"
)

// A killed run takes the processes of both modes that have them with it.
func TestEnginesKilledRun(t *testing.T) {
	modes := []string{"wireguard/userspace"}
	if err := (wireguard.Driver{}).Probe(t.Context(), labdriver.ModeSpec{ModeSpec: driver.ModeSpec{Mode: "wireguard/go-binary"}}); err == nil {
		modes = append(modes, "wireguard/go-binary")
	}
	tunneltest.KilledRun(t, modes...)
}
