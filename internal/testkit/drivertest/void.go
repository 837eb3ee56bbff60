package drivertest

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/traffic"
)

// Void runs a trial of the first pair, whose traffic bypasses the path, and expects the
// verification to fail. The counter or rule named want must be among the findings that
// fail; the error may name another.
func (s *Setup) Void(t testing.TB, p traffic.Params, want string) {
	t.Helper()
	before := s.Snapshot(t)
	client, server, err := s.Trial(t, p, false)
	if err != nil && strings.Contains(err.Error(), want) {
		return
	}
	if err != nil && slices.ContainsFunc(s.findings(t, before, client, server), func(f result.Finding) bool {
		return strings.Contains(f.Counter, want) && !f.Fits()
	}) {
		return
	}
	t.Errorf("%s over the shortcut: got %v, want the proof to fail on %s", p.Kind, err, want)
}

// findings returns what the verification compares for what one pair carried.
func (s *Setup) findings(t testing.TB, before driver.Counters, client, server traffic.Report) []result.Finding {
	t.Helper()
	after, err := s.Path.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Path.Findings(before, after, []driver.Carried{driver.CarriedBy(client, server)})
}
