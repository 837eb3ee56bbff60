package drops

import "tare/internal/result"

// Place returns where a datagram with a drop reason was dropped, as one of
// result.LossPlaces, or "" if the reason does not tell. It does not distinguish sockets: a
// proxy's drops have the receiver's reasons.
func Place(d result.DropReason) string {
	if place, ok := places()[d.Reason]; ok {
		return place
	}
	return ""
}

// places maps the reasons of Linux 6.18 to places; a kernel has some of them. Reasons of
// TCP alone are omitted.
func places() map[string]string {
	return map[string]string{
		"SECURITY_HOOK": result.PlacePolicy, "BPF_CGROUP_EGRESS": result.PlacePolicy, "IP_OUTNOROUTES": result.PlacePolicy,

		"QDISC_DROP": result.PlaceQdisc, "QDISC_OVERLIMIT": result.PlaceQdisc, "QDISC_CONGESTED": result.PlaceQdisc,
		"CAKE_FLOOD": result.PlaceQdisc, "FQ_BAND_LIMIT": result.PlaceQdisc, "FQ_HORIZON_LIMIT": result.PlaceQdisc,
		"FQ_FLOW_LIMIT": result.PlaceQdisc, "DUALPI2_STEP_DROP": result.PlaceQdisc, "TC_EGRESS": result.PlaceQdisc,

		"FULL_RING": result.PlaceDeviceTx, "DEV_READY": result.PlaceDeviceTx, "DEV_HDR": result.PlaceDeviceTx, "SKB_GSO_SEG": result.PlaceDeviceTx,
		"SKB_CSUM": result.PlaceDeviceTx, "HDR_TRUNC": result.PlaceDeviceTx, "TAP_FILTER": result.PlaceDeviceTx, "TAP_TXFILTER": result.PlaceDeviceTx,

		"CPU_BACKLOG": result.PlaceBacklog,

		"BRIDGE_INGRESS_STP_STATE": result.PlaceBridge, "NO_TX_TARGET": result.PlaceBridge, "LOCAL_MAC": result.PlaceBridge,

		"NETFILTER_DROP": result.PlaceNetfilter, "TC_INGRESS": result.PlaceNetfilter, "XDP": result.PlaceNetfilter, "XFRM_POLICY": result.PlaceNetfilter,

		"IP_RPFILTER": result.PlaceRouting, "IP_INADDRERRORS": result.PlaceRouting, "IP_INNOROUTES": result.PlaceRouting,
		"IP_LOCAL_SOURCE": result.PlaceRouting, "IP_INVALID_SOURCE": result.PlaceRouting, "IP_LOCALNET": result.PlaceRouting, "IP_INVALID_DEST": result.PlaceRouting,
		"PKT_TOO_BIG": result.PlaceRouting, "FRAG_REASM_TIMEOUT": result.PlaceRouting, "FRAG_TOO_FAR": result.PlaceRouting, "IPV6DISABLED": result.PlaceRouting,
		"NEIGH_CREATEFAIL": result.PlaceRouting, "NEIGH_FAILED": result.PlaceRouting, "NEIGH_QUEUEFULL": result.PlaceRouting,
		"NEIGH_DEAD": result.PlaceRouting, "NEIGH_HH_FILLFAIL": result.PlaceRouting, "IP_CSUM": result.PlaceRouting, "IP_INHDR": result.PlaceRouting,

		"VXLAN_INVALID_HDR": result.PlaceDeviceRx, "VXLAN_VNI_NOT_FOUND": result.PlaceDeviceRx, "VXLAN_ENTRY_EXISTS": result.PlaceDeviceRx,
		"MAC_INVALID_SOURCE": result.PlaceDeviceRx, "IP_TUNNEL_ECN": result.PlaceDeviceRx, "TUNNEL_TXINFO": result.PlaceDeviceTx,
		"UNHANDLED_PROTO": result.PlaceDeviceRx, "PFMEMALLOC": result.PlaceReceive,

		"NO_SOCKET": result.PlaceProtocol, "UDP_CSUM": result.PlaceProtocol, "PROTO_MEM": result.PlaceProtocol, "IP_NOPROTO": result.PlaceProtocol,
		"UNICAST_IN_L2_MULTICAST": result.PlaceProtocol,

		"SOCKET_RCVBUFF": result.PlaceReceive, "SOCKET_FILTER": result.PlaceReceive, "SOCKET_BACKLOG": result.PlaceReceive,
		"SOCKET_CLOSE": result.PlaceReceiver, "QUEUE_PURGE": result.PlaceReceiver, "SKB_UCOPY_FAULT": result.PlaceReceiver,
	}
}
