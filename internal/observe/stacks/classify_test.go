package stacks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Stacks recorded on the reference machine, most of each run, with the components of each
// mode. Other programs had traffic at the same time: a soft interrupt runs on top of any
// program, so up to a hundredth may be theirs.
func TestRecorded(t *testing.T) {
	always := []string{"generator", "copy", "memory", "TCP/UDP", "IP", "softirq and device core", "scheduler"}
	own := map[string][]string{
		"host":                  nil,
		"netns-bridge":          {"netfilter", "bridge", "routing"},
		"netns-published":       {"netfilter", "bridge", "routing"},
		"netns-vxlan":           {"VXLAN", "bridge", "veth", "routing", "GSO/GRO"},
		"netns-macvlan":         {"macvlan/ipvlan"},
		"docker-userland-proxy": {"userspace proxy", "netfilter"},
	}
	telling := []string{"netfilter", "bridge", "VXLAN", "macvlan/ipvlan", "userspace proxy", "crypto", "Open vSwitch", "other tunnel", "eBPF", "tun/tap"}
	const noise = 0.01
	files, err := filepath.Glob("testdata/*.folded")
	must.Require(t, err == nil && len(files) == len(own), "recorded stacks %v, %v; want %d", files, err, len(own))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".folded")
		data := must.Get(os.ReadFile(file))(t)
		shares, all := Profile{Stacks: must.Get(Read(data))(t)}.Components(), 0
		for _, n := range shares {
			all += n
		}
		share := func(c string) float64 { return float64(shares[c]) / float64(all) }
		must.True(t, share(result.Unclassified) <= 0.02, "%s: no rule knows %.1f %%", name, 100*share(result.Unclassified))
		for _, c := range slices.Concat(always, own[name]) {
			must.True(t, shares[c] != 0, "%s has no %s", name, c)
		}
		for _, c := range telling {
			elsewhere := name == "docker-userland-proxy" && c == "bridge" || name == "netns-vxlan" && c == "netfilter"
			must.True(t, slices.Contains(own[name], c) || elsewhere || share(c) <= noise, "%s has %.1f %% of %s", name, 100*share(c), c)
		}
	}
}

func TestComponent(t *testing.T) {
	const tcp = "generator (tare);main.main;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];__x64_sys_sendto_[k];__sys_sendto_[k];tcp_sendmsg_[k];tcp_sendmsg_locked_[k]"
	const path = tcp + ";tcp_write_xmit_[k];__tcp_transmit_skb_[k];__ip_queue_xmit_[k];ip_output_[k];ip_finish_output2_[k];__dev_queue_xmit_[k]"
	const softirq = ";asm_sysvec_apic_timer_interrupt_[k];sysvec_apic_timer_interrupt_[k];__irq_exit_rcu_[k];handle_softirqs_[k];net_rx_action_[k];__napi_poll_[k];process_backlog_[k]"
	tests := []struct{ name, stack, want string }{
		{"a program's own work", "generator (tare);main.main", "generator"},
		{"a proxy's", "proxy (docker-proxy);[docker-proxy]", "userspace proxy"},
		{"another program's", "other (cc1);[cc1]", "other programs"},
		{"tare's", "tare (tare);main.main", "watching"},
		{"an external program's line", "bash;main", "other programs"},
		{"payload in", tcp + ";_copy_from_iter_[k];rep_movs_alternative_[k]", "copy"},
		{"into the kernel", "generator (tare);main.main;entry_SYSCALL_64_[k]", "syscall entry"},
		{"a lock is its caller's", tcp + ";tcp_write_xmit_[k];_raw_spin_unlock_irqrestore_[k]", "TCP/UDP"},
		{"the innermost layer", path + ";dev_hard_start_xmit_[k];br_dev_xmit_[k];br_forward_[k];nf_hook_slow_[k];br_nf_post_routing_[k]", "netfilter"},
		{"memory at a socket is memory's", tcp + ";tcp_stream_alloc_skb_[k];__alloc_skb_[k];kmem_cache_alloc_node_noprof_[k]", "memory"},
		{"a bridge's clone is the bridge's", path + ";br_dev_xmit_[k];br_flood_[k];maybe_deliver_[k];skb_clone_[k];kmem_cache_alloc_noprof_[k]", "bridge"},
		{"a copy within a tunnel is the tunnel's", path + ";vxlan_xmit_[k];vxlan_xmit_one_[k];skb_cow_head_[k];pskb_expand_head_[k];memcpy_orig_[k]", "VXLAN"},
		{"a tunnel's way out is the tunnel's", path + ";vxlan_xmit_[k];vxlan_xmit_one_[k];udp_tunnel_xmit_skb_[k];iptunnel_xmit_[k]", "VXLAN"},
		{"the outer packet is routed like any", path + ";vxlan_xmit_[k];vxlan_xmit_one_[k];udp_tunnel_xmit_skb_[k];iptunnel_xmit_[k];ip_output_[k]", "IP"},
		{"a wake-up of the receiver", path + ";__local_bh_enable_ip_[k];do_softirq_[k];tcp_v4_rcv_[k];sock_def_readable_[k];__wake_up_sync_key_[k];try_to_wake_up_[k]", "scheduler"},
		{"a timer set by TCP", tcp + ";sk_reset_timer_[k];__mod_timer_[k];_raw_spin_unlock_irqrestore_[k]", "TCP/UDP"},
		{"a soft interrupt on another program", "other (cc1);[cc1]" + softirq + ";__netif_receive_skb_one_core_[k];ip_rcv_[k]", "IP"},
		{"a call of another program", "other (curl);[curl];entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];tcp_sendmsg_[k]", "other programs"},
		{"what another program suspends for", "other (cc1);[cc1];asm_sysvec_apic_timer_interrupt_[k];irqentry_exit_to_user_mode_[k];schedule_[k]", "other programs"},
		{"asleep", "idle (swapper);secondary_startup_64_[k];start_secondary_[k];cpu_startup_entry_[k];do_idle_[k];default_idle_call_[k];pv_native_safe_halt_[k]", idle},
		{"a soft interrupt on an idle CPU", "idle (swapper);do_idle_[k];pv_native_safe_halt_[k]" + softirq + ";veth_poll_[k]", "veth"},
		{"a disk's queue is no network's", "kernel (kworker/0:1H);blk_mq_dispatch_rq_list_[k];virtio_queue_rq_[k];virtqueue_notify_[k];vp_notify_[k]", "other programs"},
		{"a network's queue", path + ";sch_direct_xmit_[k];dev_hard_start_xmit_[k];start_xmit_[k];virtqueue_add_outbuf_[k]", "driver"},
		{"a tunnel's thread", "kernel (kworker/1:2);process_one_work_[k];wg_packet_encrypt_worker_[k];chacha20poly1305_encrypt_sg_inplace_[k]", "crypto"},
		{"spliced by a proxy", "proxy (docker-proxy);[docker-proxy];do_syscall_64_[k];__x64_sys_splice_[k];do_splice_[k];splice_to_socket_[k]", "copy"},
		{"and sent by it", "proxy (docker-proxy);[docker-proxy];do_syscall_64_[k];__x64_sys_splice_[k];do_splice_[k];splice_to_socket_[k];tcp_sendmsg_[k]", "TCP/UDP"},
		{"a function of no rule in one", path + ";vxlan_xmit_[k];some_new_helper_[k]", "VXLAN"},
		{"nothing that any rule knows", "generator (tare);main.main;unlisted_[k]", result.Unclassified},
		{"a thread of the kernel without frames", "kernel (kworker/0:0)", result.Unclassified},
	}
	s := NewClassifier()
	for _, tt := range tests {
		must.EqualFor(t, tt.name, tt.want, s.Component(Unfold(tt.stack)))
	}
}

// Rules only use components that a breakdown has, and no rule is completely shadowed.
func TestRulesName(t *testing.T) {
	names := append(result.ComponentNames(), idle, caller)
	for _, r := range rules() {
		must.True(t, slices.Contains(names, r.component), "a rule for %q, which is no component", r.component)
		for p := range strings.FieldsSeq(r.patterns) {
			must.True(t, !strings.HasPrefix(p, "_") && strings.Count(p, "*") <= 1 && !strings.Contains(strings.TrimSuffix(p, "*"), "*") && p != "*",
				"%s: the pattern %q matches nothing, or everything", r.component, p)
		}
	}
	for _, o := range owners() {
		must.True(t, slices.Contains(names, o), "%q owns memory and is no component", o)
	}
}

func TestPrograms(t *testing.T) {
	for name, want := range map[string][2]bool{
		"docker-proxy": {true, false}, "dockerd": {false, true}, "containerd-shim": {false, true}, "wireguard-go": {true, false}, "tare-wireguard": {true, false}, "tare-proxy": {true, false}, "charon": {true, false}, "qemu-system-x86": {true, false}, "bash": {},
	} {
		got := [2]bool{isProxy(name), isEngine(name)}
		must.True(t, got == want, "%s: proxy, engine %v, want %v", name, got, want)
	}
}

func TestKind(t *testing.T) {
	for _, tt := range []struct {
		program observe.Program
		outside bool
		want    Kind
	}{
		{observe.Program{Name: "tare", Relation: observe.Self}, false, Observer},
		{observe.Program{Name: "iperf3", Relation: observe.Agent}, false, Generator},
		{observe.Program{Name: "docker-proxy", Relation: observe.Descendant}, false, Proxy},
		{observe.Program{Name: "mytunneld", Relation: observe.Descendant}, false, Proxy},
		{observe.Program{Name: "dockerd", Relation: observe.Descendant}, false, Other},
		{observe.Program{Name: "docker-proxy", Relation: observe.Unrelated}, false, Other}, // of another engine
		{observe.Program{Name: "docker-proxy", Relation: observe.Unrelated}, true, Proxy},
		{observe.Program{Name: "cc1", Relation: observe.Unrelated}, true, Other},
		{observe.Program{Name: "ksoftirqd/0", Relation: observe.KernelThread}, false, Kernel},
	} {
		must.EqualFor(t, fmt.Sprintf("%+v, outside %t", tt.program, tt.outside), tt.want, kind(tt.program, true, tt.outside))
	}
	must.Equal(t, Other, kind(observe.Program{}, false, true))
}
