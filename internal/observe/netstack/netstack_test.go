package netstack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// proc writes a procfs with the given files below thread-self/net.
func proc(t *testing.T, net map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("sys/kernel/random/boot_id", "b007\n")
	write("stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\nintr 5\n")
	for name, text := range net {
		write("thread-self/net/"+name, text)
	}
	return dir
}

func whole() map[string]string {
	return map[string]string{
		"snmp":    "Tcp: RtoAlgorithm MaxConn InSegs\nTcp: 1 -1 7\nUdp: InDatagrams RcvbufErrors\nUdp: 100 5\nUdpLite: InDatagrams\nUdpLite: 0\n",
		"netstat": "TcpExt: SyncookiesSent TCPFastRetrans\nTcpExt: 0 3\nIpExt: InNoRoutes\nIpExt: 2\n",
		"snmp6":   "Ip6InReceives                   	96\nUdp6RcvbufErrors 4\n",
		"dev": "Inter-|   Receive                                                |  Transmit\n" +
			" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
			"  eth0: 10 1 0 8 0 0 0 0 20 2 0 9 0 0 0 0\n",
		"softnet_stat":      "38859bf8 00000000 000000d0 00000000\nabaa58e0 0000038f 00000242 00000000\n",
		"stat/nf_conntrack": "entries  clashres found drop\n00000003  00000000 00000001 00000002\n00000003  00000001 00000001 0000000a\n",
		"udp": "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n" +
			" 1234: 0100007F:1451 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 7001 2 0000000000000000 11\n",
	}
}

func TestRead(t *testing.T) {
	got := Read(proc(t, whole()))
	want := Reading{Boot: "b007", Counters: map[string]uint64{
		"Tcp.RtoAlgorithm": 1, "Tcp.InSegs": 7, "Udp.InDatagrams": 100, "Udp.RcvbufErrors": 5, "UdpLite.InDatagrams": 0,
		"TcpExt.SyncookiesSent": 0, "TcpExt.TCPFastRetrans": 3, "IpExt.InNoRoutes": 2, "Ip6.InReceives": 96, "Udp6.RcvbufErrors": 4,
		"dev/eth0.rx_bytes": 10, "dev/eth0.rx_packets": 1, "dev/eth0.rx_errors": 0, "dev/eth0.rx_dropped": 8, "dev/eth0.rx_fifo": 0,
		"dev/eth0.rx_frame": 0, "dev/eth0.rx_compressed": 0, "dev/eth0.multicast": 0,
		"dev/eth0.tx_bytes": 20, "dev/eth0.tx_packets": 2, "dev/eth0.tx_errors": 0, "dev/eth0.tx_dropped": 9, "dev/eth0.tx_fifo": 0,
		"dev/eth0.collisions": 0, "dev/eth0.tx_carrier": 0, "dev/eth0.tx_compressed": 0,
		"softnet.dropped": 0x38f, "softnet.squeezed": 0xd0 + 0x242, "conntrack.clashres": 1, "conntrack.found": 2, "conntrack.drop": 12,
		"socket/udp:5201#7001.drops": 11,
	}}
	must.Equal(t, want, got)
}

// An unreadable source is a gap, and its counters are absent; everything else is present.
func TestReadGaps(t *testing.T) {
	files := whole()
	delete(files, "softnet_stat")
	delete(files, "stat/nf_conntrack") // not loaded: nothing to lack
	files["snmp"] = "Udp: InDatagrams RcvbufErrors\nUdp: 100\n"
	files["ip_tables_names"] = "filter\nnat\n"
	got := Read(proc(t, files))
	var gaps []string
	for _, g := range got.Gaps {
		gaps = append(gaps, g.String())
	}
	text := strings.Join(gaps, "\n")
	must.Contain(t, text, "/proc/net/snmp: Udp: has 2 names and 1 values", "/proc/net/softnet_stat: open ", "tables filter, nat belong to legacy iptables")
	must.True(t, len(gaps) == 3, "%d gaps, want 3:\n%s", len(gaps), text)
	for _, absent := range []string{"softnet.dropped", "Udp.RcvbufErrors", "conntrack.drop"} {
		n, ok := got.Counters[absent]
		must.True(t, !ok, "%s is %d, but was not read", absent, n)
	}
	must.EqualFor(t, "a gap elsewhere cost the devices", uint64(9), got.Counters["dev/eth0.tx_dropped"])
}

func TestReadWithoutProcfs(t *testing.T) {
	got := Read(t.TempDir())
	must.True(t, len(got.Gaps) == 1 && strings.Contains(got.Gaps[0].String(), "procfs is not available") && len(got.Counters) == 0, "got %+v, want one gap and nothing else", got)
}

func TestSince(t *testing.T) {
	before := Reading{Boot: "b", NS: "1", Gaps: []Gap{{"firewall rules", "permission denied"}}, Counters: map[string]uint64{
		"Udp.RcvbufErrors": 5, "Udp.NoPorts": 9, "softnet.dropped": 1<<32 - 3, "conntrack.drop": 100, "dev/eth0.tx_dropped": 1, "dev/eth0.rx_dropped": 1,
		"socket/udp:53#1.drops": 4, "socket/udp:54#2.drops": 4,
	}}
	after := Reading{Boot: "b", NS: "1", Gaps: []Gap{{"firewall rules", "permission denied"}}, Counters: map[string]uint64{
		"Udp.RcvbufErrors": 12, "Udp.NoPorts": 3, "softnet.dropped": 4, "conntrack.drop": 90, "Udp.New": 1, "socket/udp:53#1.drops": 5, "socket/udp:60#3.drops": 6,
	}}
	want := Deltas{
		Counters: map[string]uint64{"Udp.RcvbufErrors": 7, "softnet.dropped": 7, "socket/udp:53#1.drops": 1, "socket/udp:60#3.drops": 6},
		Gaps: []Gap{
			{"firewall rules", "permission denied"}, {"dev/eth0", "the counter disappeared during the trial"},
			{"Udp.NoPorts", "the counter went backwards, from 9 to 3"}, {"conntrack.drop", "the counter went backwards, from 100 to 90"},
		},
	}
	must.Equal(t, want, after.Since(before))
	after.NS = "2"
	if got := after.Since(before); len(got.Counters) > 0 || !strings.Contains(got.Gaps[len(got.Gaps)-1].Reason, "replaced") {
		t.Errorf("of another namespace: %+v, want a gap and no counters", got)
	}
}

func FuzzParse(f *testing.F) {
	for name, text := range whole() {
		f.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		for _, s := range sources() {
			if s.file == name {
				var r Reading
				_ = s.parse(&r, []byte(text)) // must not panic
			}
		}
	})
}
