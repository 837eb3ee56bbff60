package drivertest

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Brief is Conformance with a few trials that together cover TCP and UDP, both directions
// and both families, and then two pairs at once: for drivers whose modes are expensive to
// test.
func Brief(t *testing.T, d labdriver.Driver) {
	NeedLab(t)
	for _, m := range d.Modes() {
		t.Run(m.ID, func(t *testing.T) {
			s := setUpOrUnsupported(t, d, ModeSpec(t, m.ID, 2, nil))
			if s == nil {
				return
			}
			s.CheckTopology(t)
			s.CheckGolden(t, m.ID)
			s.brief(t, m)
		})
	}
}

func (s *Setup) brief(t *testing.T, m driver.Mode) {
	t.Helper()
	for _, w := range patternsOf(m) {
		_, _, none := s.Path.Pairs[0].Server.Reach(true)
		switch w.Spec().Kind {
		case "tcp_stream":
			s.conforms(t, w, false, false)
			s.conforms(t, w, none == nil, true)
		case "udp_stream":
			s.conforms(t, w, none == nil, false)
			s.conforms(t, w, false, true)
		}
	}
	all, err := s.TrialPairs(t, Params("tcp_stream"), false, 2)
	if err != nil {
		t.Errorf("both pairs: %v", err)
	}
	for i, r := range all {
		if r.Client.Sent+r.Server.Sent == 0 {
			t.Errorf("pair %d carried nothing", i+1)
		}
	}
}
