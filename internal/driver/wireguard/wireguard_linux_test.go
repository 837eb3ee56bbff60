package wireguard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/driver/wireguard"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/tunneltest"
)

func TestMain(m *testing.M) { drivertest.MainOf(m, wireguard.Driver{}) }

func TestConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(wireguard.Driver{}, "wireguard/userspace"), 2)
}

func TestEnginesConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(wireguard.Driver{}, "wireguard/kernel"), 2)
}

// The facts say which WireGuard it is.
func TestEnginesTunnel(t *testing.T) {
	for mode, version := range map[string]string{"wireguard/userspace": "golang.zx2c4.com/wireguard ", "wireguard/kernel": "kernel"} {
		t.Run(mode, func(t *testing.T) {
			tunneltest.Check(t, wireguard.Driver{}, tunneltest.Case{Mode: mode, Seen: "/wireguard.", Device: "wg0",
				Facts: map[string]string{"cipher": "ChaCha20", "WireGuard": version}})
		})
	}
}

// What the process writes and reads contains no key in plain text except on the pipe.
func TestKeysAreNotPrinted(t *testing.T) {
	text, err := json.Marshal(map[string]any{"x": wireguard.Key{1, 2, 3}})
	if err != nil || !strings.Contains(string(text), "010203") {
		t.Errorf("the process is given %s, %v", text, err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := wireguard.Print(format); strings.Contains(got, "010203") || strings.Contains(got, "1 2 3") || strings.Contains(got, "0x1") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
