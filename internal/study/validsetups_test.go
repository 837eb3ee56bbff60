package study

import (
	"testing"

	"tare/internal/testkit/must"
)

// A study that measures set-ups names only modes whose set-up can be measured, and workloads of one pair.
func TestSetUpsAreChecked(t *testing.T) {
	cat := Catalog{
		Modes:     []Offer{{ID: "host", TimesSetup: true}, {ID: "netns/bridge", TimesSetup: true, Baseline: "host"}, {ID: "netns/vxlan", TimesSetup: true}, {ID: "vm/virtio", Baseline: "host"}, {ID: "docker/bridge", TimesSetup: true, Engine: true, Baseline: "host"}},
		Workloads: []WorkloadSpec{{Kind: SetupKind, Params: []string{"family"}, Defaults: Workload{Family: IPv4}}, {Kind: "tcp_rr", Optional: []string{"pairs"}}},
	}
	of := func(mode string, workloads ...Workload) Study {
		return Study{Modes: ModesOf(mode), Workloads: workloads}
	}
	setUp := Workload{Kind: SetupKind}
	sandboxed := func(w Workload, runtime string) Study {
		s := of("docker/bridge", w)
		s.Modes[0].Engine.Runtime = runtime
		return s
	}
	for _, tt := range []struct {
		s    Study
		want []Problem
	}{
		{of("netns/bridge", setUp, Workload{Kind: "tcp_rr"}), nil},
		{of("vm/virtio", Workload{Kind: "tcp_rr", Pairs: 4}), nil},
		{of("vm/virtio", setUp), []Problem{{"modes[0]", "vm/virtio cannot be measured by the workload setup, which needs endpoints in network namespaces of this machine or behind a service of a cluster; host, netns or docker can"}}},
		{sandboxed(setUp, RuntimeRunc), nil},
		{sandboxed(Workload{Kind: "tcp_rr"}, RuntimeRunsc), nil},
		{sandboxed(setUp, RuntimeRunsc), []Problem{{"modes[0].engine", "runtime: runsc cannot be measured by the workload setup, which opens the sockets of client and server itself, and none in a sandbox of gVisor; use runtime: runc, or leave the mode out"}}},
		{sandboxed(setUp, RuntimeRunscHostnet), []Problem{{"modes[0].engine", "runtime: runsc-hostnet cannot be measured by the workload setup, which opens the sockets of client and server itself, and none in a sandbox of gVisor; use runtime: runc, or leave the mode out"}}},
		{of("host", setUp, Workload{Kind: "tcp_rr", Pairs: 4}), []Problem{{"workloads[1]", "tcp_rr has several pairs of endpoints, whose set-up setup would measure, too; put one of them in a study of its own"}}},
	} {
		must.Equal(t, tt.want, Check(tt.s, cat, nil))
	}
}
