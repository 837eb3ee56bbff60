package kube

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tare/internal/testkit/must"
)

// A message of the cluster that is too long keeps its beginning, which says what failed, and its end, which says why.
func TestShorten(t *testing.T) {
	must.Equal(t, "one line of 22 letters", shorten("one line\n\tof 22 letters", 22))
	long := "Failed to create pod sandbox: " + strings.Repeat("0123456789abcdef\u00e9", 60) + " connect: connection refused"
	for _, longest := range []int{99, 100, 101, 102} {
		got := shorten(long, longest)
		must.True(t, len(got) <= longest && utf8.ValidString(got) && strings.HasPrefix(got, "Failed to create pod sandbox: ") && strings.Contains(got, " ... ") && strings.HasSuffix(got, "connect: connection refused"),
			"%d bytes of at most %d: %q", len(got), longest, got)
	}
}
