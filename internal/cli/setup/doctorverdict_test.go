package setup

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

// The verdicts of doctor follow from the warnings of a machine.
func TestSuitabilities(t *testing.T) {
	for _, c := range []struct {
		codes []warning.Code
		load  bool   // whether it could be read
		want  string // the verdicts on ratios, absolute values and UDP at a fixed rate
	}{
		{nil, true, "fine | fine | fine"},
		{[]warning.Code{warning.BBRDefault, warning.NoCubic}, true, "fine | fine | fine"},
		{[]warning.Code{warning.VirtualMachine, warning.FewCores}, true, "fine | no | fine"},
		{[]warning.Code{warning.OthersNow}, true, "fine, with wider intervals | no | not under this load"},
		{[]warning.Code{warning.StealNow, warning.VirtualMachine}, true, "fine, with wider intervals | no | not under this load"},
		{[]warning.Code{warning.CPUQuota, warning.OthersNow}, true, "no | no | no"},
		{[]warning.Code{warning.PowersaveGovernor}, true, "no | no | no"},
		{nil, false, "fine | fine | unknown"},
		{[]warning.Code{warning.StealNow}, false, "fine, with wider intervals | no | not under this load"},
		{[]warning.Code{"of_a_later_version"}, true, "fine | fine | fine"},
	} {
		var warnings []result.Warning
		for _, code := range c.codes {
			warnings = append(warnings, warning.New(code, "run", "text"))
		}
		var got []string
		for _, s := range suitabilities(warnings, c.load) {
			got = append(got, s.Verdict)
			must.True(t, s.Why != "" && ((s.Verdict == suitable) == (len(s.Because) == 0) || s.Verdict == unknownNow), "%v: no reason: %+v", c.codes, s)
		}
		must.Equal(t, c.want, strings.Join(got, " | "))
	}
	d := diagnosis{Verdicts: suitabilities([]result.Warning{warning.New(warning.OthersNow, "run", "text"), warning.New(warning.VirtualMachine, "run", "text")}, true)}
	var out bytes.Buffer
	must.Do(t, d.printSuitability(&out))
	must.Equal(t, `ratios: fine, with wider intervals; interleaved trials share the load (others_now)
absolute values: no; they are those of this machine as it is now (others_now, virtual_machine)
UDP at a fixed rate: not under this load; trials that run alone would be invalid (others_now)

`, out.String())
}
