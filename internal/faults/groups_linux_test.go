//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver/vm"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// group is a kind of modes, with the runs that are disturbed.
type group struct {
	name      string
	modes     []string // one of them, with its baseline, is measured in a run
	workloads []string
	// share is how many of a hundred faults meet this group where all groups can have them.
	share int
	needs func(*testing.T) // skips or fails if the machine cannot have it; nil: needs a lab only
}

func groups() []group {
	// Messages large enough that a few suffice for the proof: on a busy machine the
	// proxy and its neighbours are seldom scheduled.
	both := []string{"workload: tcp_stream, rate: 100Mbit/s, write_size: 16KiB, duration: 200ms", "workload: tcp_rr, transaction_rate: 500, request_size: 4KiB, response_size: 4KiB, duration: 200ms"}
	return []group{
		{name: "netns", modes: []string{"netns/bridge", "netns/published", "netns/vxlan"}, workloads: both, share: 40},
		{name: "tunnel", modes: []string{"wireguard/userspace", "proxy/tls"}, workloads: both, share: 20},
		{name: "rootless", modes: []string{"rootless/pasta"}, workloads: both, share: 17, needs: needPasta},
		{name: "docker", modes: []string{"docker/bridge", "docker/published"}, workloads: both, share: 20, needs: func(t *testing.T) { drivertest.NeedEngine(t) }},
		// One workload, of enough bytes for the proof: an emulated CPU is slow.
		{name: "vm", modes: []string{"vm/virtio"}, workloads: []string{"workload: tcp_rr, request_size: 8KiB, response_size: 8KiB, duration: 500ms"}, share: 3, needs: func(t *testing.T) {
			must.Do(t, os.Setenv(vm.KernelVariable, drivertest.NeedGuest(t)))
		}},
	}
}

func needPasta(t *testing.T) {
	if _, err := exec.LookPath("pasta"); err != nil {
		testneed.Missing(t, testneed.Slirp, err)
	}
}

// chosenGroups are the groups that the flag names.
func chosenGroups(t *testing.T) (chosen []group) {
	t.Helper()
	names := strings.Split(*faultModes, ",")
	for _, g := range groups() {
		if i := slices.Index(names, g.name); i >= 0 {
			chosen, names = append(chosen, g), slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		t.Fatalf("-modes: there is no group of modes %q", names)
	}
	return chosen
}

// blocks is how many blocks a run has.
const blocks = 2

// text is the study of a run that measures a mode: as short as a run can be. The order of its
// trials follows from the seed.
func (g group) text(mode string, seed uint64) string {
	text := fmt.Sprintf("name: faults\nseed: %d\nblocks: %d\nsettle: 10ms\nmodes: [host, %s]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off, most: off}\nworkloads:\n", seed, blocks, mode)
	for _, w := range g.workloads {
		text += fmt.Sprintf("  - {%s, warmup: 50ms}\n", w)
	}
	return text
}
