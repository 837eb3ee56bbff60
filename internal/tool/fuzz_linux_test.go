package tool

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzKernel checks that the tables of /proc/net give counters and sockets that their text names.
func FuzzKernel(f *testing.F) {
	f.Add("Tcp: RtoAlgorithm MaxConn OutSegs\nTcp: 1 -1 7\nUdp: OutDatagrams\nUdp: 100\n")
	f.Add("IpExt: OutOctets\nIpExt: 18446744073709551615\n")
	f.Add("Ip6OutOctets                   \t96\n")
	f.Add("   0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001\n")
	f.Add("   0: :FFFFF 0:0 0A 0:0")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parsed := range []map[string]uint64{parseSNMP([]byte(text)), parseSNMP6([]byte(text))} {
			if n := len(strings.Fields(text)); len(parsed) > n {
				t.Errorf("%d counters in %d words", len(parsed), n)
			}
			for name := range parsed {
				protocol, _, _ := strings.Cut(name, ".")
				must.True(t, name != "" && strings.Contains(text, protocol), "counter %q is not in %q", name, text)
			}
		}
		for line := range strings.Lines(text) {
			if s, err := parseSocket(line); err == nil && s.state > 0xff {
				t.Errorf("%q is %+v", line, s)
			}
		}
	})
}

// FuzzVersion checks that any banner of a tool is an error on one line or a version of digits,
// dots and what the tool itself appends.
func FuzzVersion(f *testing.F) {
	for _, banner := range []string{"iperf 3.12 (cJSON 1.7.15)\nLinux x\n", "iperf version 2.1.8 (12 August 2022) pthreads\n", "ntttcp for Linux version 1.4.0\n", "iperf 3.99999999999999999999", "iperf 3.1\x1b[31m", "iperf version 2.1.\x1b[31m", "NTTTCP for Linux 1.4\x1b[31m", "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage", "wrk 4.2.0 [epoll] ", "h2load nghttp2/1.52.0", ""} {
		f.Add(banner, "--bidir --rsa --warm-up-time\n")
	}
	f.Fuzz(func(t *testing.T, banner, help string) {
		for _, tool := range All() {
			b, err := tool.probe(banner, help)
			switch {
			case err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b"):
				t.Errorf("%s: the error %q is not on one line", tool.Name, err)
			case err == nil && (b.version == "" || strings.ContainsAny(b.version, " \n\r\x1b")):
				t.Errorf("%s: %q is version %q", tool.Name, banner, b.version)
			}
		}
	})
}
