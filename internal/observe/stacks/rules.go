package stacks

import "strings"

// rule maps kernel functions to a component. A pattern is a function's name without leading
// underscores; a pattern that ends in * is a prefix. The first rule that matches a name
// applies.
type rule struct {
	component string
	weak      bool // see Classifier.Component
	patterns  string
}

// caller is not a component: its functions belong to the function that called them.
const caller = ""

// idle is the component of waiting for work, which is not a cost.
const idle = "idle"

// rules is the table. Names are from Linux 5.4 to 6.18; names that a kernel lacks match
// nothing. Functions without a rule, such as locks and memory copies in the kernel, belong
// to their callers.
func rules() []rule {
	return []rule{
		// Belongs to the caller: locks and small helpers that everything uses, and the part
		// of a tunnel's transmit path that belongs to the tunnel.
		{caller, false, `raw_spin_* raw_read_* raw_write_* queued_spin_* queued_read_* queued_write_* native_queued_* pv_queued_* rb_* list_* llist_* memcmp* memchr* strlen* find_* ct_irq_* ct_nmi_* ct_user_* context_tracking_*
			udp_tunnel_xmit_* udp_tunnel6_xmit_* udp_tunnel_dst_* iptunnel_* ip_tunnel_ecn_* bpf_lsm_* bpf_skops_* gro_cell_* bpf_dispatcher_* sk_filter* xfrm_policy_check* xfrm_decode_* xfrm_route_* rcu_read_* rcu_is_* rcu_rd* ktime_get* read_tsc pvclock_*
			timekeeping_* mod_timer* add_timer* lock_timer_* calc_wheel_* internal_add_timer enqueue_timer detach_if_* del_timer* timer_delete* siphash_* jhash_* get_random_* get_cycles* xa_* idr_* radix_tree_* refcount_* percpu_* prandom_* reciprocal_* crc32_* ip_select_ident* x86_indirect_* srso_* retbleed_* indirect_thunk_* its_* static_call_* cond_resched* preempt_count_*`},

		// Waiting. The kernel also counts the idle thread's path into and out of sleep as
		// idle.
		{idle, false, `default_idle* pv_native_safe_halt native_safe_halt acpi_idle_* acpi_safe_halt acpi_processor_ffh_* intel_idle* mwait_idle*
			cpuidle_* do_idle cpu_startup_entry poll_idle cpu_idle_poll* arch_cpu_idle* arch_local_irq_enable haltpoll_* menu_* teo_*
			tick_nohz_* tick_sched_* start_secondary rest_init cpu_do_idle psci_* ct_idle_* rcu_idle_* ct_cpuidle_* ct_kernel_*
			x86_idle* amd_e400_idle secondary_startup_64* quiet_vmstat nohz_balance_* need_update sched_idle_set_state`},

		// Between the kernel and a program. A proxy that uses splice moves pages instead of
		// copying.
		{"copy", false, `copy_from_iter* copy_to_iter* copy_page_to_iter* copy_page_from_iter* copy_folio_to_iter* copy_user_* csum_and_copy_*
			skb_copy_datagram_* skb_datagram_iter simple_copy_to_iter copyin copyout copy_from_user* copy_to_user* arch_copy_from_user arch_copy_to_user
			skb_copy_to_page_nocache skb_do_copy_data_nocache skb_add_data_nocache memcpy_from_msg memcpy_to_msg
			check_object_size check_heap_object zerocopy_sg_from_iter ip_generic_getfrag
			iov_iter_* raw_copy_* splice_* do_splice* direct_splice_* iter_file_splice_* sock_splice_* tcp_splice_* skb_splice_* pipe_* anon_pipe_* generic_pipe_* page_cache_pipe_* add_to_pipe sock_pipe_*`},
		{"copy", true, `rep_movs_* memcpy* copy_page copy_mc_*`},

		// Modes with code of their own.
		{"VXLAN", false, `vxlan_*`},
		{"other tunnel", false, `geneve_* gre_* gretap_* ipgre_* erspan_* ipip_* ip6_tnl_* ip6gre_* sit_* fou_* gue_* ip_tunnel_rcv ip_tunnel_xmit ip_md_tunnel_* l2tp_* pppoe_* ppp_* bareudp_*`},
		{"macvlan/ipvlan", false, `macvlan_* macvtap_* ipvlan_* ipvtap_*`},
		{"Open vSwitch", false, `ovs_* do_execute_actions clone_execute`},
		{"crypto", false, `crypto_* chacha* poly1305* aes* aesni_* gcm_* rfc4106_* ghash_* sha1_* sha256_* sha512_* blake2s_* curve25519_* wg_* xfrm_* xfrm4_* xfrm6_* esp_* esp4_* esp6_* ah_*
			skcipher_* shash_* ahash_* padata_* cryptd_* scatterwalk_* neon_* kernel_fpu_* tls_* irq_fpu_usable`},

		// Connection tracking in a bridge's hooks is netfilter, not the bridge.
		{"netfilter", false, `nf_* nft_* ipt_* ip6t_* xt_* br_nf_* nfnetlink_* ipv4_conntrack_* ipv6_conntrack_* ipv4_confirm ipv6_confirm iptable_* ip6table_* ip_set_* hash_ip* ip_vs_*
			nfqnl_* conntrack_* tcp_packet udp_packet tcp_in_window tcp_error hash_conntrack* in_vs_* masquerade_* ebt_* ebtable_* arpt_* selinux_ip* synproxy_* early_drop gc_worker resolve_normal_ct get_unique_tuple init_conntrack`},
		{"bridge", false, `br_* brport_* deliver_clone maybe_deliver should_deliver nbp_* fdb_find_* ip_sabotage_in mrp_* bond_* team_* vlan_* batadv_*`},
		{"veth", false, `veth_*`},
		{"tun/tap", false, `tun_* tap_*`},
		{"eBPF", false, `bpf_* cls_bpf_* tcx_* xdp_* dev_map_* cpu_map_* xsk_* cgroup_bpf_* sk_skb_* netkit_* run_filter`},

		// Network layers, from the socket down.
		{"GSO/GRO", false, `skb_gso_* skb_segment* skb_mac_gso_* tcp4_gso_* tcp6_gso_* tcp_gso_* udp4_ufo_* udp_gso_* udp4_gso_* inet_gso_* ipv6_gso_* napi_gro_* dev_gro_* skb_gro_* tcp4_gro_* tcp6_gro_* tcp_gro_*
			udp4_gro_* udp6_gro_* udp_gro_* inet_gro_* ipv6_gro_* eth_gro_* gro_* validate_xmit_skb validate_xmit_skb_list inet_csk_gso napi_skb_finish eth_gso_* udp_tunnel_gro_* udp_rcv_segment udp_unexpected_gso udp_queue_rcv_segmented netif_skb_features gso_*`},
		{"checksum", false, `csum_partial* do_csum skb_checksum* csum_block_* csum_tcpudp_* ip_compute_csum ip_fast_csum udp4_hwcsum udp_set_csum tcp_v4_send_check skb_crc32c* csum_ipv6_* lco_csum udp6_set_csum`},
		{"routing", false, `ip_route_* ip6_route_* ip6_pol_* fib_* fib4_* fib6_* fib_* ip_rt_* rt_* rt6_* rt_dst_* rt_set_* dst_* neigh_* arp_* ndisc_* find_exception ip_mkroute_* ip_error ipv4_mtu ip6_mtu ipv4_dst_check ip6_dst_* ip6_dst_check
			inetdev_* ip_handle_martian* l3mdev_* nh_* nexthop_* ipv4_neigh_* ip_finish_output_neigh ipv4_default_advmss inet_addr_type* ip_dev_find inet_select_addr`},
		{"TCP/UDP", false, `tcp_* tcp4_* tcp6_* mptcp_* subflow_* udp_* udp4_* udp6_* udpv6_* udplite_* inet_csk_* inet_* inet6_* reqsk_* bbr_* bictcp_* cubictcp_* cubictcp* hystart_* dctcp_* reno_* sk_* sock_def_* sock_wfree sock_rfree sock_efree sock_wmalloc
			sock_alloc_send_* sock_queue_* sock_queue_rcv_* skb_queue_* skb_recv_* skb_try_recv_* skb_wait_* lock_sock_* release_sock lock_sock sock_wait_* skb_set_owner_* skb_consume_udp datagram_poll raw_local_deliver raw_v4_* minmax_* rate_* skb_orphan* sock_pfree sock_edemux
			secure_tcp_* cookie_* sctp_* quic_* skb_dequeue* skb_unlink simple_wait first_packet_length tw_timer_* timewait_* skb_rbtree_* net_zcopy_* unix_* security_sk_* security_sock_rcv_* ip4_datagram_* ip6_datagram_*`},
		{"IP", false, `ip_* ip4_* ip6_* ipv4_* icmp_* icmpv6_* icmp6_* inet_frag_* ip_frag_* dst_output dst_input neigh_output igmp_* ip_rcv* raw_rcv* raw_sendmsg raw_recvmsg ping_* ipv6_* mld_* nf_hook ip_options_*`},
		{"qdisc", false, `sch_* qdisc_* pfifo_* bfifo_* fq_* fq_codel_* codel_* cake_* tbf_* htb_* hfsc_* netem_* red_* sfq_* prio_* noqueue_* mq_* tcf_* tc_* cls_* act_* u32_* fl_* mirred_* ingress_* clsact_* dev_qdisc_* dev_requeue_* netif_schedule* psched_* mini_qdisc_* dequeue_skb try_bulk_dequeue_*`},
		{"driver", false, `virtnet_* vhost_* start_xmit free_old_xmit* receive_buf receive_mergeable skb_xmit_done skb_recv_done loopback_* always_on ena_* e1000_* e1000e_* igb_* igc_* ixgbe_* ixgbevf_* i40e_* iavf_* ice_* mlx4_* mlx5_* mlx5e_* bnxt_* nfp_* gve_* netvsc_* hv_* vmbus_* vmxnet3_* xennet_* xenvif_* r8169_* rtl8169_* tg3_* bnx2x_* ixgb_* dummy_* ifb_* dma_* swiotlb_* iommu_* mana_*`},

		// Virtual disks use these too, and then they are not network processing.
		{"other programs", false, `virtio_queue_rq* virtio_commit_rqs virtblk_*`},
		{"driver", true, `virtqueue_* vring_* virtio_* vp_* vq_* detach_buf_* iowrite*`},

		// Used by several layers. Weak: inside a layer in the middle of the path, memory
		// belongs to that layer.
		{"memory", true, `kmem_cache_* kmalloc* kfree* kvfree* slab_* slub_* new_slab allocate_slab cmpxchg_double_slab free_to_partial_list put_cpu_partial unfreeze_* memcg_* mem_cgroup_* obj_cgroup_* try_charge_* refill_* consume_stock drain_* charge_memcg
			alloc_pages* alloc_frozen_* alloc_from_pcs* free_to_pcs* get_page_from_* rmqueue* prep_new_page post_alloc_hook clear_page* clear_highpages* free_unref_* free_frozen_* free_pages* free_one_page free_pcppages_* free_page* put_page put_unref_page page_frag_* skb_page_frag_* sk_page_frag_* page_pool_* folio_* get_pfnblock_* zone_watermark_* mod_node_* mod_zone_* mod_memcg_* mod_lruvec_* lruvec_* inc_node_* policy_* mpol_*
			alloc_skb* napi_alloc_* napi_build_* napi_consume_* napi_skb_cache_* netdev_alloc_* build_skb* slab_build_skb skb_release_* skb_free_* kfree_skb* consume_skb skb_attempt_* skb_defer_* skb_clone skb_copy* pskb_* skb_cow_* skb_expand_* skb_put skb_push skb_pull* skb_trim skb_headers_offset_* copy_skb_header skb_frag_* skb_zcopy_* skb_tx_error skb_morph skb_split skb_shift skb_cloned skb_unref skb_ext_* kfree_skbmem skb_kfree_head skb_pp_* memset*
			asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault do_anonymous_page do_wp_page mm_* vma_* lock_vma_* vm_* unmap_* zap_* tlb_* flush_tlb_* do_madvise* madvise_* pte_* mas_* mt_* do_mmap mmap_* native_flush_tlb_* do_fault do_cow_fault do_huge_pmd_* handle_pte_fault wp_page_*`},

		{"scheduler", false, `schedule* do_sched* sched_* preempt_schedule* pick_* put_prev_* set_next_* try_to_wake_up try_to_block_* ttwu_* wake_* default_wake_* autoremove_wake_* ep_autoremove_* ep_poll_callback woken_wake_* wait_woken enqueue_* dequeue_entit* dequeue_task* update_curr* update_load_* update_cfs_* update_rq_* update_min_* update_se update_entity_* update_blocked_* update_group_* update_sd_* update_sg_* update_other_* update_deadline update_irq_* select_task_rq* select_idle_* available_idle_cpu
			finish_task_switch prepare_task_switch context_switch switch_to* switch_mm* enter_lazy_tlb switch_fpu_* resched_* check_preempt_* wakeup_preempt* place_entity reweight_* yield_* do_sys_sched_* newidle_* sched_balance_* load_balance* rebalance_* balance_* find_busiest_* detach_tasks attach_tasks cpu_util* psi_* set_task_cpu migrate_* activate_task deactivate_task avg_vruntime* entity_* vruntime_* rq_clock* native_smp_send_* native_send_call_func_* send_call_function_* default_send_IPI_* x2apic_send_* native_x2apic_* apic_* smp_call_* generic_smp_* flush_smp_* sysvec_reschedule* sysvec_call_function* asm_sysvec_reschedule* asm_sysvec_call_function*
			futex_* do_futex get_futex_* hrtimer_* hrtimers_* do_nanosleep nanosleep* clock_nanosleep* common_nsleep* timerqueue_* tick_* clockevents_* lapic_* native_apic_* native_write_msr native_read_msr kvm_* ktime_* get_nohz_* calc_* account_* cputime_* vtime_* irqtime_* run_rebalance_* rcu_* note_* call_rcu* timer_* run_timer_* expire_timers call_timer_fn try_to_del_* lock_timer_* detach_* internal_add_* get_next_timer_* run_posix_* posix_cpu_* task_tick_* task_work_* scheduler_tick sched_tick cpuacct_* cgroup_rstat_* perf_* ctx_* event_* group_sched_* rotate_* smpboot_* kthread_* sched_clock* local_clock* smp_* native_sched_* dl_* pull_* rt_mutex_* rwsem_* down_* up_* mutex_* osq_* rcuwait_* swake_* complete* wait_for_* cpumask_* cpus_* on_each_* membarrier_* do_membarrier* nohz_* raise_softirq* put_task_* exit_* do_exit* copy_process kernel_clone* wait_task_* do_wait* do_signal* get_signal* dequeue_signal* send_signal* signal_* do_send_* do_rt_* restore_* setup_rt_* handle_signal* arch_do_signal_* sigprocmask set_current_blocked recalc_sigpending* tgkill* do_tkill* fpregs_* save_fpregs_* fpu_* load_gs_* ptrace_* irq_work_* prepare_to_* finish_wait add_wait_* remove_wait_* init_wait_*`},

		// Kernel entry and exit, and the path to the socket.
		{"syscall entry", false, `entry_SYSCALL_* entry_SYSRETQ* do_syscall_* x64_sys_* arm64_sys_* ia32_sys_* se_sys_* do_sys_* sys_* x64_sys_call syscall_* el0_svc* el0t_64_sync* invoke_syscall* do_el0_svc ksys_* vfs_* new_sync_* do_iter_* rw_verify_* fdget* fget* fput* fd_* sockfd_* sock_sendmsg* sock_recvmsg* sock_read_iter sock_write_iter sock_poll sock_* import_* move_addr_* get_compat_* sendmsg_* recvmsg_* copy_msghdr_* put_cmsg* security_* apparmor_* aa_* selinux_* tomoyo_* smack_* lsm_* cap_* avc_*
			do_epoll_* ep_* epoll_* eventpoll_* eventfd_* poll_* do_poll* do_select* core_sys_* kern_select* sendfile* do_sendfile* fsnotify* file_* filp_* do_dentry_* dput dentry_* path_* link_path_* lookup_* step_into* walk_component* may_open* do_filp_* getname* close_* task_work_run exit_to_user_* irqentry_* syscall_exit_* syscall_enter_* seccomp_* audit_* io_* user_access_* fpu__* wait4 do_fcntl* do_vfs_ioctl* sock_ioctl* sock_alloc* sock_close sock_release* clock_gettime* get_timespec* put_timespec* ktime_get_ts64* posix_* get_random_* entry_* swapgs_* error_* native_irq_* paranoid_* ret_from_* cleanup_module_* rseq_* net_dev_ioctl* dev_ioctl* setsockopt* getsockopt* do_sock_* do_getsockopt* do_setsockopt* do_accept* move_iovec* do_readv* do_writev* writev* readv* wait_on_* do_fast_*`},

		// Between devices, and between interrupt and protocol.
		{"softirq and device core", false, `net_rx_action net_tx_action process_backlog napi_* busy_poll_* netif_* enqueue_to_backlog dev_* skb_network_protocol skb_clone_tx_* skb_scrub_* skb_tx_timestamp skb_vlan_* eth_* deliver_* packet_* tpacket_* rps_* get_rps_* xps_* get_xps_* netdev_* gro_cells_* handle_softirqs do_softirq* softirq_* irq_exit* irq_enter* local_bh_* run_ksoftirqd ksoftirqd_* tasklet_* asm_common_interrupt common_interrupt asm_sysvec_* sysvec_* handle_irq* handle_edge_* handle_fasteoi_* generic_handle_* gic_* el1_interrupt el1h_64_irq* el0_interrupt el0t_64_irq* do_interrupt_handler call_on_irq_stack
			note_interrupt skb_defer_free_flush net_dev_* sysctl_* trace_* tracing_* ftrace_* process_one_work worker_thread wq_* queue_work* queue_delayed_* flow_* skb_flow_* skb_get_hash* skb_header_* net_* ptype_* skb_do_redirect rhashtable_* rht_*`},

		// The machine's housekeeping.
		{"other programs", false, `kdamond* damon_* kswapd* shrink_* balance_pgdat kcompactd* compact_* khugepaged* collapse_* ksm_* wb_* writeback_* blk_* submit_bio* bio_* ext4_* xfs_* btrfs_* jbd2_* overlay_* ovl_* nvme_* scsi_* ata_* loop_* fuse_* proc_* kernfs_* seq_* sysfs_* sysrq_* tty_* n_tty_* serial8250_* console_* printk* vprintk* filemap_* generic_file_* generic_perform_* shmem_* page_cache_* do_readahead load_elf_* exec_* do_exec* begin_new_exec random_* crng_*`},
	}
}

// owners lists the layers in the middle of a path, to which memory management and copying
// inside them are attributed.
func owners() []string {
	return []string{
		"netfilter", "bridge", "VXLAN", "other tunnel", "macvlan/ipvlan", "Open vSwitch", "crypto", "veth", "tun/tap", "eBPF", "routing", "qdisc", "GSO/GRO", "other programs",
	}
}

// isProxy reports whether a program, by its kernel name, carries packets or connections for a
// mode: a proxy, a tunnel or a virtual machine.
func isProxy(name string) bool {
	for _, p := range []string{
		"docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "vpnkit", "pasta", "passt", "gvproxy", "gvforwarder", "wireguard-go", "tare-wireguard", "tare-proxy", "boringtun", "tailscaled",
		"charon", "openvpn", "nebula", "ovs-vswitchd", "vpp", "vhost-", "qemu-", "firecracker", "cloud-hyperviso", "envoy", "haproxy", "nginx", "caddy", "socat", "kube-proxy", "flanneld", "weaver", "lima-guestagent", "com.docker.back",
	} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// isEngine reports whether a program serves a container engine without being on a path.
func isEngine(name string) bool {
	if isProxy(name) {
		return false // such as tare's own tunnel
	}
	for _, p := range []string{"dockerd", "containerd", "runc", "podman", "conmon", "crun", "docker-init", "tare", "exe"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
