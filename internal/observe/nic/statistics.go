package nic

// statistics are the names by class, without the numbers of queues and the affixes of
// ports. They are those of the drivers in Linux that are common in servers and virtual
// machines, as their sources have them: mlx5, mlx4, ixgbe, ixgbevf, i40e, iavf, ice, igb, igc,
// e1000, e1000e, bnxt, bnx2, bnx2x, tg3, r8169, sfc, cxgb4, qede, be2net, enic, nfp, ionic,
// hns3, mvneta, macb, stmmac, ena, gve, mana, virtio_net, vmxnet3, hv_netvsc. Left out are
// what counts bytes or microseconds, allocations that are tried again, and packets that a
// filter was told to drop.
func statistics() map[Class][]string {
	return map[Class][]string{
		NoBuffer: {
			"rx_missed_errors", "rx_missed", "rx_missed_cntr", "rx_no_buffer_count", "rx_no_dma_resources", "rx_over_errors", "rx_fifo_errors", // Intel, Realtek
			"rx_dropped", "rx_drops", "rx_discards", "rx_discard", "rx_drop", "rx_queue_#_drops", "rx#_drops", "rx#_dropped", "rx_#_dropped", // many
			"rx_out_of_buffer", "dev_out_of_buffer", "rx_prio#_discards", "rx_prio#_buf_discard", // mlx5
			"rx_total_oom_discards", "rx_total_netpoll_discards", "rx_total_ring_discards", "rx_stat_discard", "rx_discard_packets_cos#", // bnxt
			"rx_fw_discards", "rx_ftq_discards", "rx_brb_discard", "rx_brb_truncate", "rx_skb_alloc_discard", // bnx2, bnx2x
			"rx_nodesc_drops", "port_rx_nodesc_drops", "port_rx_overflow", "rx_noskb_drops", "rx_nodesc_trunc", // sfc
			"rx_bg#_frames_dropped", "rx_bg#_frames_trunc", "rx_ovflow#", // cxgb4
			"no_buff_discards", "brb_discards", // qede
			"rx_drops_no_pbuf", "rx_drops_no_txpb", "rx_drops_no_erx_descr", "rx_drops_no_tpre_descr", "rx_drops_no_frags", // be2net
			"rx_no_bufs", "dev_rx_discards", "hw_rx_dropped", "rx_overrun", "rx_overruns", "rx_resource_errors", "rx_overflow_cntr", "mmc_rx_fifo_overflow", // enic, nfp, ionic, mvneta, macb, stmmac
			"rx#_hw_drops", "rx#_hw_drop_overruns", // virtio_net
			"rx_queue_drop_cnt", "rx_dropped_pkt", "rx_no_buffers_posted", // gve
			"hc_rx_discards_no_wqe", "rx_no_memory", "pkts rx oob", "drv dropped rx total", // mana, hv_netvsc, vmxnet3
		},
		Damaged: {
			"rx_crc_errors", "rx_frame_errors", "rx_align_errors", "rx_alignment_errors", "align_errors", "rx_length_errors", "rx_long_length_errors", "rx_short_length_errors",
			"rx_oversize", "rx_undersize", "rx_jabber", "rx_jabbers", "rx_fragments", // Intel
			"rx_in_range_len_errors", "rx_out_of_range_len", "rx_oversize_pkts", "rx_undersize_pkts", // mlx5
			"rx_fcs_errors", "rx_fcs_err_frames", "rx_ovrsz_frames", "rx_runt_frames", "rx_frame_too_long_errors", "rx_stat_err", // Broadcom
			"port_rx_bad", "rx_bad_crc", "rx_frame_check_sequence_errors", "mac_rx_fcs_err_pkt_num", "mmc_rx_crc_error", "dev_rx_errors", "rx_errors", "pkts rx err", // others
		},
		Unsent: {
			"tx_dropped", "tx_drops", "tx_discards", "tx_discard", "tx_drop", "tx_errors", "tx_queue_#_drops", "tx#_drops", "tx#_dropped", "tx_#_dropped",
			"tx_queue_dropped", "tx_aborted_errors", "tx_aborted", "tx_fifo_errors", "tx_underrun", "tx_carrier_errors", "tx_dropped_link_down", "tx_dma_failed", // Intel, mlx5, Realtek
			"tx_stat_discard", "tx_total_ring_discards", "dev_tx_discards", "dev_tx_errors", "hw_tx_dropped", // bnxt, nfp, ionic
			"tx#_hw_drops", "tx_dropped_pkt", "pkts tx discard", "pkts tx err", "drv dropped tx total", // virtio_net, gve, vmxnet3
			"tx_no_memory", "tx_no_space", "tx_too_big", "vf_tx_dropped", // hv_netvsc
		},
		Throttled: {
			"bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "pps_allowance_exceeded", "conntrack_allowance_exceeded", "linklocal_allowance_exceeded", // ena
		},
		PausedRx: {
			"rx_pause_ctrl", "rx_global_pause", "rx_prio#_pause", // mlx5
			"rx_flow_control_xoff", "rx_pb_#_pxoff", "link_xoff_rx", "rx_priority_#_xoff", // Intel
			"rx_pause_frames", "rx_pause", "rx_pfc_frames", "rx_pfc_frames_received", "rx_xoff_pause_rcvd", "rx_xoff_frames", // Broadcom
			"port_rx_pause", "rx_pause_mac_ctrl_frames", "mac_rx_mac_pause_num", "mmc_rx_pause_frames", "fc_received", // others
		},
		PausedTx: {
			"tx_pause_ctrl", "tx_global_pause", "tx_prio#_pause",
			"tx_flow_control_xoff", "tx_pb_#_pxoff", "link_xoff_tx", "tx_priority_#_xoff",
			"tx_pause_frames", "tx_pauseframes", "tx_pause", "tx_pfc_frames", "tx_pfc_frames_sent", "tx_xoff_sent", "tx_xoff_frames",
			"port_tx_pause", "tx_pause_mac_ctrl_frames", "mac_tx_mac_pause_num", "mmc_tx_pause_frame", "fc_sent",
		},
	}
}
