package nic_test

import (
	"strings"
	"testing"

	"tare/internal/observe/netstack"
	"tare/internal/observe/nic"
	"tare/internal/testkit/must"
)

// The statistics of drivers as they print them, written from their sources in Linux 6.12
// and shortened: no such cards are here.
func TestClassify(t *testing.T) {
	for driver, names := range map[string]map[string]nic.Class{
		"mlx5_core": {"rx_out_of_buffer": nic.NoBuffer, "rx_discards_phy": nic.NoBuffer, "rx_prio3_discards": nic.NoBuffer, "rx_crc_errors_phy": nic.Damaged, "rx_oversize_pkts_phy": nic.Damaged,
			"tx_discards_phy": nic.Unsent, "tx_queue_dropped": nic.Unsent, "rx_pause_ctrl_phy": nic.PausedRx, "tx_global_pause": nic.PausedTx, "rx_prio0_pause": nic.PausedRx,
			"rx_prio0_pause_duration": "", "rx_packets": "", "rx0_packets": "", "tx_queue_stopped": "", "rx_steer_missed_packets": "", "rx_symbol_err_phy": "", "link_down_events_phy": ""},
		"ixgbe": {"rx_missed_errors": nic.NoBuffer, "rx_no_dma_resources": nic.NoBuffer, "rx_long_length_errors": nic.Damaged, "rx_flow_control_xoff": nic.PausedRx, "tx_pb_0_pxoff": nic.PausedTx,
			"rx_flow_control_xon": "", "alloc_rx_page_failed": "", "rx_csum_offload_errors": "", "tx_restart_queue": "", "fdir_miss": ""},
		"ice":       {"rx_dropped.nic": nic.NoBuffer, "rx_crc_errors.nic": nic.Damaged, "link_xoff_tx.nic": nic.PausedTx, "tx_dropped_link_down.nic": nic.Unsent, "illegal_bytes.nic": "", "rx_queue_7_packets": ""},
		"i40e":      {"port.rx_dropped": nic.NoBuffer, "port.rx_priority_2_xoff": nic.PausedRx, "port.rx_jabber": nic.Damaged, "port.rx_size_64": "", "rx-3.packets": ""},
		"igb":       {"rx_queue_0_drops": nic.NoBuffer, "rx_align_errors": nic.Damaged, "tx_aborted_errors": nic.Unsent, "rx_queue_0_csum_err": "", "tx_queue_1_restart": ""},
		"e1000e":    {"rx_no_buffer_count": nic.NoBuffer, "tx_fifo_errors": nic.Unsent, "tx_timeout_count": ""},
		"bnxt_en":   {"[0]: rx_discards": nic.NoBuffer, "rx_total_ring_discards": nic.NoBuffer, "rx_fcs_err_frames": nic.Damaged, "rx_pause_frames": nic.PausedRx, "rx_discard_packets_cos3": nic.NoBuffer, "rx_discard_bytes_cos3": ""},
		"tg3":       {"rx_discards": nic.NoBuffer, "rx_fcs_errors": nic.Damaged, "rx_xoff_pause_rcvd": nic.PausedRx, "tx_xoff_sent": nic.PausedTx, "rxbds_empty": ""},
		"r8169":     {"rx_missed": nic.NoBuffer, "align_errors": nic.Damaged, "tx_aborted": nic.Unsent, "tx_multi_collisions": ""},
		"ena":       {"bw_out_allowance_exceeded": nic.Throttled, "pps_allowance_exceeded": nic.Throttled, "queue_0_rx_page_alloc_fail": "", "wd_expired": ""},
		"gve":       {"rx_no_buffers_posted[2]": nic.NoBuffer, "rx_queue_drop_cnt[0]": nic.NoBuffer, "rx_posted_desc[0]": ""},
		"virtio":    {"rx_queue_0_drops": nic.NoBuffer, "rx1_drops": nic.NoBuffer, "rx0_hw_drop_overruns": nic.NoBuffer, "rx_queue_0_xdp_drops": "", "rx_queue_0_kicks": ""},
		"vmxnet3":   {"  pkts rx OOB": nic.NoBuffer, "  drv dropped tx total": nic.Unsent, "     fcs": "", "  ring full": "", "  pkts linearized": ""},
		"hv_netvsc": {"rx_no_memory": nic.NoBuffer, "tx_no_space": nic.Unsent, "vf_tx_dropped": nic.Unsent, "tx_busy": "", "stop_queue": ""},
		"nfp":       {"dev_rx_discards": nic.NoBuffer, "mac.rx_pause_mac_ctrl_frames": nic.PausedRx, "mac.rx_frame_check_sequence_errors": nic.Damaged, "rvec_0_rx_pkts": ""},
		"sfc":       {"port_rx_nodesc_drops": nic.NoBuffer, "port_tx_pause": nic.PausedTx, "rx-0.rx_packets": ""},
		"veth":      {"peer_ifindex": "", "rx_queue_0_xdp_packets": ""},
	} {
		for name, want := range names {
			if class, family, ok := nic.Classify(name); class != want || ok != (want != "") || strings.ContainsAny(family, ".0123456789") {
				t.Errorf("%s: %s is %q of family %q, want %q", driver, name, class, family, want)
			}
		}
	}
}

// The queues of a family add up, and of several families that count the same drops only the
// largest counts.
func TestCards(t *testing.T) {
	var before, after netstack.Reading
	nic.Add(&before, "eth0.5", map[string]uint64{"rx_queue_0_drops": 1, "rx_queue_1_drops": 2, "rx_dropped": 3, "rx_crc_errors": 7, "rx_packets": 9})
	nic.Add(&after, "eth0.5", map[string]uint64{"rx_queue_0_drops": 11, "rx_queue_1_drops": 22, "rx_dropped": 33, "rx_crc_errors": 7, "rx_packets": 99})
	cards := nic.Cards(after.Since(before))
	must.Require(t, len(cards) == 1 && cards[0].Device == "eth0.5", "cards %v", cards)
	c := cards[0]
	type found struct {
		N      uint64
		Family string
		Known  bool
	}
	got := map[nic.Class]found{}
	for _, class := range classes() {
		n, family, known := c.Count(class)
		got[class] = found{n, family, known}
	}
	want := map[nic.Class]found{nic.NoBuffer: {30, "rx_dropped", true}, nic.Damaged: {0, "rx_crc_errors", true}, nic.Unsent: {}, nic.Throttled: {}, nic.PausedRx: {}, nic.PausedTx: {}}
	must.Equal(t, want, got)
}

// Every name of the table is of one class, and is found.
func TestStatisticsAreOfOneClass(t *testing.T) {
	seen := map[string]nic.Class{}
	for class, names := range nic.Statistics() {
		for _, name := range names {
			other, twice := seen[name]
			must.True(t, !twice, "%s is of %s and of %s", name, class, other)
			seen[name] = class
			got, _, ok := nic.Classify(strings.ReplaceAll(name, "#", "12"))
			must.True(t, ok && got == class, "%s is found as %q, want %q", name, got, class)
		}
	}
}

// FuzzStatistics checks that whatever names a driver has, what is added to a reading is found
// again and has the same sum.
func FuzzStatistics(f *testing.F) {
	f.Add("rx_queue_0_drops\nrx_queue_1_drops\n[3]: rx_discards\n  pkts rx OOB\nport.rx_dropped", "eth0.5", uint64(7))
	f.Add("rx_dropped.nic\n\x00\nrx_drop_cnt[0]", "a.b.c", uint64(1)<<63)
	f.Fuzz(func(t *testing.T, names, device string, n uint64) {
		stats := map[string]uint64{}
		for name := range strings.Lines(names) {
			stats[strings.TrimSuffix(name, "\n")] = n
		}
		var before, after netstack.Reading
		zero := map[string]uint64{}
		for name := range stats {
			zero[name] = 0
		}
		nic.Add(&before, device, zero)
		nic.Add(&after, device, stats)
		for _, c := range nic.Cards(netstack.Deltas{Counters: after.Counters}) {
			must.Require(t, c.Device == device, "device %q was read as %q", device, c.Device)
			known := 0
			for _, class := range classes() {
				if _, _, ok := c.Count(class); ok {
					known++
				}
			}
			must.Require(t, known != 0, "a card without counters: %q", names)
		}
		must.Require(t, len(before.Counters) == len(after.Counters), "%d counters and then %d", len(before.Counters), len(after.Counters))
	})
}

func classes() []nic.Class {
	return []nic.Class{nic.NoBuffer, nic.Damaged, nic.Unsent, nic.Throttled, nic.PausedRx, nic.PausedTx}
}
