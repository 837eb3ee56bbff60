package analysis

import (
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

func TestGroup(t *testing.T) {
	w := func(code warning.Code, scope, text string, values ...string) result.Warning {
		return result.Warning{Code: string(code), Scope: scope, Text: text, Values: result.NewValues(values...)}
	}
	for _, c := range []struct {
		name     string
		warnings []result.Warning
		want     []Grouped
	}{
		{"none", nil, nil},
		{"most important first, whatever the order in the run", []result.Warning{
			w(warning.SharedKernel, "run", "x"), w(warning.FewCores, "run", "x", "2 CPUs"), w(warning.LimitsSkipped, "run", "x"), w(warning.SearchNoResult, "a udp", "x"), w(warning.TwoBands, "b udp goodput", "x")}, []Grouped{
			{Code: "two_bands", Severity: warning.Bias, Modes: []string{"b"}, Workloads: []string{"udp"}, Count: 1, Text: "two bands of results: the mean describes neither"},
			{Code: "search_no_result", Severity: warning.Bias, Modes: []string{"a"}, Workloads: []string{"udp"}, Count: 1, Text: "a rate search found no rate within its loss goal: no value"},
			{Code: "limits_skipped", Severity: warning.Bias, Count: 1, Text: "the study's limits do not apply to every mode: compare limited modes only"},
			{Code: "few_cores", Severity: warning.Spread, Count: 1, Machine: true, Text: "2 CPUs for client and server: rates lower, spread wider"},
			{Code: "shared_kernel", Severity: warning.Note, Count: 1, Text: "both hosts share one kernel: ratios are for the kernel path, not for a wire"}}},
		{"one line for several modes and workloads", []result.Warning{
			w(warning.CoreSaturated, "host udp-1", "x", "99.4 %"), w(warning.CoreSaturated, "docker/bridge udp-1", "x", "100 %"),
			w(warning.CoreSaturated, "host udp-2", "x", "96 %")}, []Grouped{
			{Code: "core_saturated", Severity: warning.Bias, Modes: []string{"host", "docker/bridge"}, Workloads: []string{"udp-1", "udp-2"}, Count: 3,
				Text: "a CPU was up to 100 % busy: the CPU limits the result, not the network path"}}},
		{"the largest of two", []result.Warning{
			w(warning.BusyTurns, "run", "x", "138 %"), w(warning.BusyTurns, "run", "x", "6.08 %")}, []Grouped{
			{Code: "busy_turns", Severity: warning.Spread, Count: 2, Text: "others used up to 138 % of a CPU during trials: rates lower, spread wider"}}},
		{"values that differ and have no order", []result.Warning{
			w(warning.MTUDiffers, "a", "x", "1450", "1500", "host"), w(warning.MTUDiffers, "b", "x", "1420", "1500", "host")}, []Grouped{
			{Code: "mtu_differs", Severity: warning.Bias, Modes: []string{"a", "b"}, Count: 2, Text: "the MTU differs from the baseline's: part of the cost is the packet count"}}},
		{"values that an older version did not record", []result.Warning{
			w(warning.MSSDiffers, "netns/vxlan tcp_stream", "segments carry 1398 bytes here and 1448 in host: part of the cost is the smaller MTU, as it is in use")}, []Grouped{
			{Code: "mss_differs", Severity: warning.Bias, Modes: []string{"netns/vxlan"}, Workloads: []string{"tcp_stream"}, Count: 1,
				Text: "the segment size differs from the baseline's: part of the cost is the MTU"}}},
		{"consequences of few CPUs", []result.Warning{
			w(warning.BusyMachine, "run", "x", "3.46"), w(warning.FewCores, "run", "x", "2 CPUs"), w(warning.CPUPressure, "udp-1", "x"), w(warning.CPUPressure, "udp-2", "x"), w(warning.OneCPU, "udp-2", "x")}, []Grouped{
			{Code: "few_cores", Severity: warning.Spread, Count: 5, Machine: true, Text: "2 CPUs for client and server: rates lower, spread wider"}}},
		{"the same without that cause", []result.Warning{w(warning.CPUPressure, "udp-1", "x", "58.4 %"), w(warning.CPUPressure, "udp-2", "x", "99 %")}, []Grouped{
			{Code: "cpu_pressure", Severity: warning.Spread, Workloads: []string{"udp-1", "udp-2"}, Count: 2, Text: "programs waited for a CPU up to 99 % of the time: rates show what the CPUs allow"}}},
		{"a cause takes the severity of what it explains", []result.Warning{w(warning.BaselineFiltered, "host", "x"), w(warning.HostFiltered, "run", "x")}, []Grouped{
			{Code: "baseline_filtered", Severity: warning.Bias, Modes: []string{"host"}, Count: 2, Text: "a packet filter on the baseline's path: other modes look cheaper than they are"}}},
		{"a code of a later version", []result.Warning{w("comet", "run", "a comet passed"), w(warning.MaxTime, "run", "x")}, []Grouped{
			{Code: "max_time", Severity: warning.Spread, Count: 1, Text: "stopped at the time limit: fewer blocks, intervals wider"},
			{Code: "comet", Count: 1, Text: "a comet passed"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			must.Equal(t, c.want, Group(c.warnings))
		})
	}
}

// The warnings of a quick run on a virtual machine with two CPUs in a container: those
// about the machine do not reach a screen that shows only what biases the comparison.
func TestGroupTwoCPUs(t *testing.T) {
	var run []result.Warning
	for _, code := range []warning.Code{warning.VirtualMachine, warning.InContainer, warning.FewCores, warning.BusyMachine, warning.BBRDefault, warning.CubicRestricted,
		warning.SharedKernel, warning.WarmupNotVerified, warning.BusyTurns, warning.BusyTurns, warning.CPUPressure} {
		run = append(run, result.Warning{Code: string(code), Scope: "run", Text: "x"})
	}
	run = append(run, result.Warning{Code: string(warning.MSSDiffers), Scope: "netns/vxlan tcp_stream", Text: "x"})
	var bias []warning.Code
	spread := map[warning.Code]int{}
	for _, g := range Group(run) {
		switch g.Severity {
		case warning.Bias:
			bias = append(bias, g.Code)
		case warning.Spread:
			spread[g.Code] = g.Count
		}
	}
	must.Equal(t, []warning.Code{warning.MSSDiffers}, bias)
	must.Equal(t, map[warning.Code]int{warning.FewCores: 3, warning.BusyTurns: 2, warning.WarmupNotVerified: 1}, spread)
}

// The names of modes and workloads that another program measured may have spaces.
func TestGroupScopes(t *testing.T) {
	for _, tt := range []struct {
		code           warning.Code
		scope          string
		mode, workload string
	}{
		{warning.GeneratorLimited, "linux bridge tcp_rr", "linux bridge", "tcp_rr"},
		{warning.GeneratorLimited, "linux tcp_rr", "linux", "tcp_rr"},
		{warning.GeneratorLimited, "linux 5.14 TCP_RR", "linux", "5.14 TCP_RR"},
		{warning.GeneratorLimited, "linux bridge", "linux bridge", ""},
		{warning.StacksUnavailable, "linux bridge tcp_rr", "linux bridge", "tcp_rr"},
		{warning.StacksUnavailable, "run", "", ""},
		{warning.OneValue, "linux bridge 5.14 TCP_RR goodput", "linux bridge", "5.14 TCP_RR"},
	} {
		g := Group([]result.Warning{{Code: string(tt.code), Scope: tt.scope}}, "linux", "linux bridge")[0]
		if got := strings.Join(g.Modes, ","); got != tt.mode || strings.Join(g.Workloads, ",") != tt.workload {
			t.Errorf("%s of %q names mode %q and workloads %q", tt.code, tt.scope, got, g.Workloads)
		}
	}
}
