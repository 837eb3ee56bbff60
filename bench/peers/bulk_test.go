package peers

import (
	"testing"

	"tare/internal/testkit/must"
)

// The outputs are cut from real ones of the versions of Debian 12.
func TestParseBulk(t *testing.T) {
	udp, tcp := load{udp: true, streams: 1, size: 1400}, load{streams: 2, size: 128 << 10}
	for _, c := range []struct {
		name  string
		parse func(string) (carried, error)
		text  string
		want  carried
		err   string
	}{
		{"iperf3", parseIperf3, `{"end":{"sum_sent":{"seconds":1.0001,"bytes":2800,"packets":2},"sum_received":{"seconds":1.5,"bytes":1400,"packets":9}}}`,
			carried{sent: 2800, received: 1400, seconds: 1.5}, ""},
		{"iperf3 fails", parseIperf3, `{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}`, carried{}, "Connection refused"},
		{"iperf3 without an end", parseIperf3, `{"end":{}}`, carried{}, "sum_received"},
		{"iperf3 says nothing", parseIperf3, "", carried{}, "iperf3"},
		{"iperf2 UDP", func(s string) (carried, error) { return parseIperf2(s, udp) },
			"19700101000000,198.19.240.1,52687,198.19.240.2,5202,1,0.0-1.0,140000,1120000,0.000,50,150,33.333,0\n",
			carried{sent: 210000, received: 140000, seconds: 1}, ""},
		{"iperf2 TCP", func(s string) (carried, error) { return parseIperf2(s, tcp) },
			"19700101000000,198.19.240.1,1,198.19.240.2,5202,1,0.0-1.0,1000,8000\n" +
				"19700101000000,198.19.240.1,2,198.19.240.2,5202,2,0.0-2.0,3000,12000\n" +
				"19700101000000,198.19.240.1,0,198.19.240.2,5202,-1,0.0-2.0,4000,16000\n",
			carried{received: 4000, seconds: 2}, ""},
		{"iperf2 TCP with a header", func(s string) (carried, error) { return parseIperf2(s, tcp) },
			"time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,readcnt,bin0,bin1,bin2,bin3,bin4,bin5,bin6,bin7\n" +
				"+0000:19700101000000.240955,198.19.240.1,1,198.19.240.2,5202,2,0.0,1.0,1000,8000,17854,1431,0,0,8,24,0,0,16391\n" +
				"+0000:19700101000000.314761,198.19.240.1,2,198.19.240.2,5202,1,0.0,2.0,3000,12000,36097,1730,0,0,1,7,0,0,34359\n" +
				"19700101000000,198.19.240.1,0,198.19.240.2,5202,-1,0.0-2.0,4000,16000\n",
			carried{received: 4000, seconds: 2}, ""},
		{"iperf2 lacks a connection", func(s string) (carried, error) { return parseIperf2(s, tcp) },
			"19700101000000,198.19.240.1,1,198.19.240.2,5202,1,0.0-1.0,1000,8000\n", carried{}, "1 of 2 connections"},
		{"nuttcp", func(s string) (carried, error) { return parseNuttcp(s, udp) },
			"megabytes=2.0000 real_seconds=1.25 rate_Mbps=13.4 tx_cpu=67 rx_cpu=20 drop=88598 pkt=2000 data_loss=46.38969\n",
			carried{sent: 2800000, received: 2097152, seconds: 1.25}, ""},
		{"nuttcp fails", func(s string) (carried, error) { return parseNuttcp(s, udp) }, "nuttcp-t: Error: connect", carried{}, "megabytes"},
	} {
		got, err := c.parse(c.text)
		if c.err != "" {
			must.FailFor(t, c.name, err, c.err)
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}
