package selection

import (
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// What runs the command again as root of a user namespace gets the round trip that was measured.
func TestWithRTT(t *testing.T) {
	for args, want := range map[string]string{
		"run --like ssh://a my.yaml":       "run --rtt=287µs --like ssh://a my.yaml",
		"run -q --like=ssh://a -- my.yaml": "run -q --rtt=287µs --like=ssh://a -- my.yaml",
		"run --rtt 1ms":                    "run --rtt 1ms",
	} {
		given := strings.Fields(args)
		must.Equal(t, want, strings.Join(Hosts{Args: given}.WithRTT(287*time.Microsecond).Args, " "))
		must.Equal(t, args, strings.Join(given, " "))
	}
}
