package study

import "slices"

// Purpose is a kind of application, with the workloads that stand for it.
type Purpose struct {
	Name      string
	Title     string // "a web service": completes "what a network costs ..."
	Workloads []Workload
}

// Purposes lists the kinds of applications of which tare knows the traffic. The sizes are typical of them, not measured:
// a study can change each.
func Purposes() []Purpose {
	return []Purpose{
		{"web", "a web service", []Workload{
			{ID: "web_keepalive", Kind: "http", ResponseSize: 16 << 10},
			{ID: "web_connection", Kind: "http", KeepAlive: Off, ResponseSize: 16 << 10},
		}},
		{"database", "a database", []Workload{
			{ID: "query", Kind: "tcp_rr", RequestSize: 200, ResponseSize: 4 << 10},
			{ID: "queries_16", Kind: "tcp_rr", RequestSize: 200, ResponseSize: 4 << 10, Flows: 16},
		}},
		{"cache", "a cache", []Workload{
			{ID: "get", Kind: "tcp_rr", RequestSize: 64, ResponseSize: 1 << 10},
			{ID: "gets_16", Kind: "tcp_rr", RequestSize: 64, ResponseSize: 1 << 10, Flows: 16},
		}},
		{"bulk", "bulk transfers", []Workload{
			{ID: "stream", Kind: "tcp_stream"},
			{ID: "streams_8", Kind: "tcp_stream", Streams: 8},
		}},
		{"voice", "voice calls", []Workload{
			// 100 calls of G.711 in packets of 20 ms: 160 bytes of voice and 12 of RTP (RFC 3551), 50 packets/s each.
			{ID: "calls_100", Kind: "udp_stream", PayloadSize: 172, PacketRate: 5000},
		}},
		{"dns", "name resolution", []Workload{{Kind: "udp_dns"}, {Kind: "tcp_dns"}}},
		{"loaded", "requests on a path that a transfer fills", []Workload{
			{ID: "alone", Kind: "tcp_rr"},
			{ID: "beside_stream", Kind: "tcp_rr", WithLoad: TCPLoad},
		}},
		{"packets", "packets of three sizes", []Workload{
			// IP packets of 64, 512 and 1500 bytes, of which 28 are headers of IPv4 and UDP, at one packet rate.
			{ID: "packets_64", Kind: "udp_stream", PayloadSize: 64 - 28, PacketRate: 10000},
			{ID: "packets_512", Kind: "udp_stream", PayloadSize: 512 - 28, PacketRate: 10000},
			{ID: "packets_1500", Kind: "udp_stream", PayloadSize: 1500 - 28, PacketRate: 10000},
		}},
		{"setup", "containers that start", []Workload{{Kind: SetupKind}}},
	}
}

// PurposeNames lists the names of the purposes.
func PurposeNames() []string {
	var out []string
	for _, p := range Purposes() {
		out = append(out, p.Name)
	}
	return out
}

// purposeNamed finds a purpose.
func purposeNamed(name string) (Purpose, bool) {
	i := slices.IndexFunc(Purposes(), func(p Purpose) bool { return p.Name == name })
	if i < 0 {
		return Purpose{}, false
	}
	return Purposes()[i], true
}
