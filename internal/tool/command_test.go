package tool

import (
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
)

// The command line of each endpoint. README.md has the same.
func TestCommands(t *testing.T) {
	const help312 = "--idle-timeout --bidir --udp-counters-64bit --dont-fragment --connect-timeout"
	base := job{host: "198.18.0.2", port: 5301}
	base.Params = traffic.Params{
		Workload: study.Workload{Streams: 2, WriteSize: 131072, PayloadSize: 1400, NoDelay: new(true), Congestion: "cubic", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
		Warmup:   100 * time.Millisecond, Duration: 1500 * time.Millisecond, Limit: 12 * time.Second,
	}
	for _, c := range []struct {
		name   string
		tool   Tool
		change func(*job)
		want   string // or error
	}{
		{"iperf3 tcp", iperf3(), func(j *job) { j.Kind = tcpStream; j.grantedBuffer = 1 << 20 },
			"-c 198.18.0.2 -J -i 0.1 -p 5301 -4 -t 2 -P 2 -l 131072 -C cubic -N -w 1048576 --connect-timeout 3000"},
		{"iperf3 tcp at a rate, reverse, ipv6", iperf3(), func(j *job) {
			j.Kind, j.Rate, j.Direction, j.ipv6, j.host = tcpStream, 1e9, study.Reverse, true, "2001:2::2"
		}, "-c 2001:2::2 -J -i 0.1 -p 5301 -6 -t 2 -P 2 -l 131072 -C cubic -N -b 500000000 -R --connect-timeout 3000"},
		{"iperf3 udp", iperf3(), func(j *job) { j.Kind, j.Rate = udpStream, 1e8 },
			"-c 198.18.0.2 -J -i 0.1 -p 5301 -4 -t 2 -P 2 -u -l 1400 -b 50000000 --udp-counters-64bit --dont-fragment --connect-timeout 3000"},
		{"iperf3 udp as fast as it goes, both", iperf3(), func(j *job) { j.Kind, j.Direction, j.Fragment = udpStream, study.Both, study.On },
			"-c 198.18.0.2 -J -i 0.1 -p 5301 -4 -t 2 -P 2 -u -l 1400 -b 0 --udp-counters-64bit --bidir --connect-timeout 3000"},
		{"iperf3 udp by packets", iperf3(), func(j *job) { j.Kind, j.PacketRate, j.build.help = udpStream, 1000, "" },
			"-c 198.18.0.2 -J -i 0.1 -p 5301 -4 -t 2 -P 2 -u -l 1400 -b 5600000"},
		{"iperf3 long", iperf3(), func(j *job) { j.Kind, j.Streams, j.Warmup, j.Duration = tcpStream, 50, time.Minute, time.Minute },
			"-c 198.18.0.2 -J -i 1 -p 5301 -4 -t 120 -P 50 -l 131072 -C cubic -N --connect-timeout 3000"},
		{"iperf3 both, too old", iperf3(), func(j *job) { j.Kind, j.Direction, j.build.help = tcpStream, study.Both, "" }, "3.7 or later"},
		{"iperf3 too slow", iperf3(), func(j *job) { j.Kind, j.Rate, j.Streams = udpStream, 1, 8 }, "less than 1 bit/s"},
		{"iperf3 server", iperf3(), func(j *job) { j.Kind, j.side = tcpStream, atServer },
			"-s -1 -J -i 0.1 -p 5301 -4 -B 198.18.0.2 --idle-timeout 12"},
		{"iperf3 server on all addresses", iperf3(), func(j *job) { j.Kind, j.side, j.host, j.build.help = tcpStream, atServer, "", "" },
			"-s -1 -J -i 0.1 -p 5301 -4"},
		{"iperf2 tcp", iperf2(), func(j *job) { j.Kind, j.grantedBuffer = tcpStream, 1<<20 },
			"-c 198.18.0.2 -t 1.6 -e -y C -i 0.1 -p 5301 -P 2 -w 1048576 -l 131072 -Z cubic -N"},
		{"iperf2 tcp reverse", iperf2(), func(j *job) { j.Kind, j.Direction, j.Rate = tcpStream, study.Reverse, 1e9 },
			"-c 198.18.0.2 -t 1.6 -e -y C -i 0.1 -p 5301 -P 2 -b 500000000 -R"},
		{"iperf2 tcp reverse server", iperf2(), func(j *job) { j.Kind, j.Direction, j.side = tcpStream, study.Reverse, atServer },
			"-s -e -y C -i 0.1 -p 5301 -P 2 -l 131072 -Z cubic -N -B 198.18.0.2"},
		{"iperf2 udp", iperf2(), func(j *job) { j.Kind = udpStream },
			"-c 198.18.0.2 -t 1.6 -e -y C -i 0.1 -p 5301 -P 2 -u -l 1400 -b 1000g"},
		{"iperf2 udp both, ipv6", iperf2(), func(j *job) { j.Kind, j.Direction, j.ipv6, j.Rate = udpStream, study.Both, true, 1e7 },
			"-c 198.18.0.2 -t 1.6 -e -y C -i 0.1 -p 5301 -P 2 -V -u -l 1400 -b 5000000 --full-duplex"},
		{"iperf2 udp server", iperf2(), func(j *job) { j.Kind, j.side = udpStream, atServer },
			"-s -e -y C -i 0.1 -p 5301 -P 2 -u -l 1400 -B 198.18.0.2"},
		{"ntttcp tcp", ntttcp(), func(j *job) { j.Kind, j.build.help = tcpStream, "--no-delay" },
			"-s198.18.0.2 -P 1 -p 5301 -W 1 -t 2 -C 1 -x F -b 131072 -n 2 -l 1 --no-delay"},
		{"ntttcp udp", ntttcp(), func(j *job) { j.Kind, j.Rate = udpStream, 1e8 },
			"-s198.18.0.2 -P 1 -p 5301 -W 1 -t 2 -C 1 -x F -u -b 1400 -n 2 -l 1 -B 100000000"},
		{"ntttcp receiver", ntttcp(), func(j *job) { j.Kind, j.side = tcpStream, atServer },
			"-r198.18.0.2 -P 1 -p 5301 -W 1 -t 2 -C 1 -x F -b 131072"},
		{"ntttcp udp over ipv6", ntttcp(), func(j *job) { j.Kind, j.ipv6 = udpStream, true }, "IPv4 only"},
		{"ntttcp everywhere", ntttcp(), func(j *job) { j.Kind, j.host, j.side = tcpStream, "", atServer }, "requires a specific address"},
		{"Windows sender", Tool{command: windowsCommand}, func(j *job) {
			j.Kind, j.SendBuffer, j.ReceiveBuffer = tcpStream, quantity.Buffer(1<<20), quantity.Buffer(1<<20)
		},
			"-s -m 2,*,198.18.0.2 -p 5301 -wu 1 -t 2 -cd 1 -xml F -ndl -l 131072 -sb 1048576 -rb 1048576"},
		{"Windows UDP receiver, ipv6", Tool{command: windowsCommand}, func(j *job) { j.Kind, j.ipv6, j.side = udpStream, true, atServer },
			"-r -m 2,*,198.18.0.2 -p 5301 -wu 1 -t 2 -cd 1 -xml F -6 -u -l 1400"},
		{"Windows UDP at a rate", Tool{command: windowsCommand}, func(j *job) { j.Kind, j.Rate = udpStream, 16384000 },
			"-s -m 2,*,198.18.0.2 -p 5301 -wu 1 -t 2 -cd 1 -xml F -u -l 1400 -thr 1000"},
		{"wrk", wrk(), func(j *job) { j.Kind, j.Streams, j.Token = http1Kind, 32, "x" },
			"-t 1 -c 32 -d 2s --timeout 5s -H tare-trial: " + http1.RequestTag("x") + " http://198.18.0.2:5301/"},
		{"h2load, HTTP/1.1, ipv6", h2load(), func(j *job) { j.Kind, j.Streams, j.Token, j.host, j.ipv6 = http1Kind, 4, "x", "2001:2::2", true },
			"-t 1 -c 4 -m 1 -D 1500ms --warm-up-time 100ms --h1 -H tare-trial: " + http1.RequestTag("x") + " http://[2001:2::2]:5301/"},
		{"h2load, HTTP/2, without a warm-up", h2load(), func(j *job) { j.Kind, j.Flows, j.Streams, j.Warmup, j.Token = http2Kind, 3, 10, 0, "x" },
			"-t 1 -c 3 -m 10 -D 1500ms -H tare-trial: " + http1.RequestTag("x") + " http://198.18.0.2:5301/"},
	} {
		j := base
		j.file, j.build.help = &outputFile{path: "F"}, help312
		c.change(&j)
		args, err := c.tool.command(j)
		got := strings.Join(args, " ")
		if err != nil {
			got = err.Error()
		}
		must.True(t, got == c.want || err != nil && strings.Contains(got, c.want), "%s:\n got %s\nwant %s", c.name, got, c.want)
	}
}
