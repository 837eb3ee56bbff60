package facts

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/linuxnet"
)

// answers is a kernel that says what it is told to.
type answers struct {
	offloads map[string]bool
	filters  []linuxnet.Filter
	err      error
}

func (a answers) Offloads(string) (map[string]bool, error) { return a.offloads, a.err }
func (a answers) Filters() ([]linuxnet.Filter, error)      { return a.filters, a.err }

func TestAsked(t *testing.T) {
	files := tree(map[string]string{"sys/class/net/eth0/device/uevent": "DRIVER=e1000\n", "sys/class/net/eth0/mtu": "1500"})
	rule := linuxnet.Filter{Family: "ip", Table: "filter", Chain: "FORWARD", Hook: "forward", Drops: true, Rules: 1, All: 4, Docker: true}
	old := linuxnet.Filter{Family: "ip6", Table: "nat", Rules: 2, All: 2}
	tests := []struct {
		name           string
		ask            asker
		device, filter string
		warned         string
	}{
		{
			"all on, nothing filtered", answers{offloads: map[string]bool{"tso": true, "gso": true}},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads gso tso", "none", "",
		},
		{
			"Docker, and a card that cannot segment", answers{offloads: map[string]bool{"tso": false, "gro": true}, filters: []linuxnet.Filter{rule, old}},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads gro", "ip filter forward: 1 rule, else drop; ip6 nat (old iptables): 2 rules", "host_filtered device_offloads",
		},
		{"chains without rules", answers{filters: []linuxnet.Filter{{Family: "inet", Table: "x", Chain: "c", Hook: "input"}}},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads none", "inet x input: 0 rules", ""},
		{
			"it may not be asked", answers{err: errors.New("not permitted")},
			"e1000, speed unknown, MTU 1500, queues unknown, offloads unknown: not permitted", "unknown: not permitted", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{fsys: files, ask: tt.ask}
			m.filters()
			m.devices()
			checkForm(t, m.report)
			got := map[string]string{}
			for _, f := range m.report.Facts {
				got[f.Name] = f.Value
			}
			if d := cmp.Diff(map[string]string{"device_eth0": tt.device, "packet_filter": tt.filter}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var warned []string
			for _, w := range m.report.Existing {
				warned = append(warned, w.Code)
			}
			if got := strings.Join(warned, " "); got != tt.warned {
				t.Errorf("warnings %q, want %q", got, tt.warned)
			}
		})
	}
}

// FuzzFacts reads a machine all of whose files hold the same few words. Whatever they
// are, each fact has a value that can be printed, and nothing breaks.
func FuzzFacts(f *testing.F) {
	paths := []string{
		"proc/meminfo", "proc/self/cgroup", "proc/self/status", "proc/cmdline", "proc/1/comm", "proc/loadavg", "proc/cpuinfo", "proc/self/mountinfo",
		"sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory/memory.limit_in_bytes",
		"sys/devices/system/node/online", "sys/devices/system/node/node0/cpulist", "sys/devices/system/node/node1/cpulist", "sys/devices/system/cpu/online",
		"sys/devices/system/cpu/isolated", "sys/class/net/eth0/device/uevent", "sys/class/net/eth0/speed", "sys/class/net/eth0/queues/rx-0/rps_cpus",
		"sys/kernel/mm/transparent_hugepage/enabled", "proc/sys/net/netfilter/nf_conntrack_max", "proc/sys/net/netfilter/nf_conntrack_count",
		"proc/sys/net/bridge/bridge-nf-call-iptables", "proc/sys/net/core/rps_sock_flow_entries", "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
	}
	for _, seed := range []string{"", "0", "0-1\n", "max 100000", "0::/a/b\n4:memory:/..\n", "MemTotal: 5 kB\nSwapTotal: 9 kB\nSwapFree: 99 kB\n", "Cpus_allowed_list:\t0-1\n", "[x", "-1", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := map[string]string{}
		for _, p := range paths {
			files[p] = text
		}
		for _, fact := range machineOf(tree(files), answers{}).Facts {
			if fact.Name == "" || strings.TrimSpace(fact.Value) == "" || strings.ContainsAny(fact.Value, "\n") {
				t.Errorf("fact %q is %q", fact.Name, fact.Value)
			}
		}
	})
}
