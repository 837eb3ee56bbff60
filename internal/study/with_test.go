package study_test

import (
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// What a mode's with and a cost by parts may hold is checked, with the line and what to write.
func TestVariantsAndCostByParts(t *testing.T) {
	const costByParts = "modes: [host, netns/vxlan]\nworkloads: [tcp_rr]\nladder: {of: netns/vxlan, rungs: "
	for _, tt := range []struct{ text, want string }{
		{"modes: [{mode: netns/vxlan, with: {bridge: off}}]\nworkloads: [tcp_rr]\n", ""},
		{"modes: [{mode: netns/vxlan, with: {bridge: on}}]\nworkloads: [tcp_rr]\n", "bridge is \"on\"; want off"},
		{"modes: [{mode: netns/vxlan, with: {bridges: off}}]\nworkloads: [tcp_rr]\n", "unknown setting of netns/vxlan \"bridges\""},
		{"modes: [{mode: netns/bridge, with: {bridge: off}}]\nworkloads: [tcp_rr]\n", "netns/bridge has no settings"},
		{costByParts + "[{mode: host}, {mode: netns/vxlan, part: all}]}\n", ""},
		{costByParts + "[{mode: host}]}\n", "a ladder has at least two rungs, and the explained mode netns/vxlan is one of them"},
		{costByParts + "[{mode: host}, {mode: netns/bridge}, {mode: netns/vxlan}]}\n", "mode \"netns/bridge\" is not under modes"},
		{costByParts + "[{mode: host}, {part: a}]}\n", "rung without mode"},
	} {
		s, err := studyfile.Decode("s.yaml", []byte(tt.text), studytest.Catalog())
		if err == nil {
			_, err = study.Resolve(s, studytest.Catalog())
		}
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// A cost by parts loses the modes that the command line excludes, and is gone without its mode.
func TestCostByPartsIsNarrowed(t *testing.T) {
	text := "modes: [host, netns/bridge, netns/vxlan]\nworkloads: [tcp_rr, tcp_stream]\n" +
		"ladder: {of: netns/vxlan, rungs: [{mode: host}, {mode: netns/bridge, part: a}, {mode: netns/vxlan, part: b}], removals: [{mode: netns/bridge, part: b}]}\n"
	s := must.Get(studyfile.Decode("s.yaml", []byte(text), studytest.Catalog()))(t)
	for _, tt := range []struct {
		modes []string
		rungs int
	}{{[]string{"host", "netns/vxlan"}, 2}, {[]string{"host", "netns/bridge"}, 0}, {[]string{"host", "netns/bridge", "netns/vxlan"}, 3}} {
		got := must.Get(s.Apply(study.Overrides{Modes: tt.modes}, studytest.Catalog()))(t)
		n := 0
		if got.CostByParts != nil {
			n = len(got.CostByParts.Modes)
			must.True(t, n != 2 || len(got.CostByParts.Removals) == 0, "%v: %+v", tt.modes, got.CostByParts.Removals)
		}
		must.True(t, n == tt.rungs, "%v: %d rungs, want %d", tt.modes, n, tt.rungs)
	}
}
