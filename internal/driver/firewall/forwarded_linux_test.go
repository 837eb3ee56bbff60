package firewall

import (
	"testing"

	"tare/internal/testkit/must"
)

// The rule that bypasses the engine's chains must be there, and what other rules of FORWARD match is
// counted.
func TestForwarded(t *testing.T) {
	const head, chains = "*filter\n:FORWARD DROP [0:0]\n", "[7:700] -A FORWARD -j DOCKER-USER\n[2:200] -A FORWARD -i docker0 -o docker0 -j ACCEPT\n[7:700] -A DOCKER-USER -j RETURN\nCOMMIT\n"
	for _, tt := range []struct {
		name, text       string
		accepted, others uint64
		ok               bool
	}{
		{"first", head + "[9:900] -A FORWARD -j ACCEPT\n[0:0] -A FORWARD -j DOCKER-USER\n", 900, 0, true},
		{"overtaken", head + "[5:500] -A FORWARD -j DOCKER-USER\n[4:400] -A FORWARD -j ACCEPT\n", 400, 5, true},
		{"a second one", head + "[9:900] -A FORWARD -j ACCEPT\n[1:100] -A FORWARD -j ACCEPT\n", 900, 1, true},
		{"gone", head + chains, 0, 0, false},
		{"bare", head + "[x:0] -A FORWARD -j ACCEPT\n", 0, 0, false},
	} {
		rules, err := ParseIptables(tt.text)
		var accepted, others uint64
		if err == nil {
			accepted, others, err = forwarded(rules, "FORWARD")
		}
		must.True(t, accepted == tt.accepted && others == tt.others && (err == nil) == tt.ok, "%s: %d bytes, %d packets of others, %v", tt.name, accepted, others, err)
	}
}
