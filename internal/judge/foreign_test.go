package judge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

func read(opt Options, texts ...string) (Numbers, error) {
	var sources []Source
	for i, text := range texts {
		name := "numbers.csv"
		if len(texts) > 1 {
			name = fmt.Sprintf("dir/%c.txt", 'a'+i)
		}
		sources = append(sources, Source{name, strings.NewReader(text)})
	}
	return Read(sources, opt)
}

// k8sHeader are the first columns of the tables of k8s-netperf.
const k8sHeader = "Driver,Profile,Same node,Host Network,Service,Duration,Parallelism,# of Samples,Message Size"

// utf16Text is a text as UTF-16 with a byte order mark.
func utf16Text(big bool, text string) string {
	var order binary.AppendByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	var out []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

// rows returns the trials, one per line.
func rows(n Numbers) string {
	var out strings.Builder
	for _, t := range n.Input.Trials {
		fmt.Fprintf(&out, "%d %s %s %s", t.Block, t.Mode, t.Workload, t.Status)
		for _, m := range n.Input.Metrics {
			if v, ok := t.Metrics[m.Name]; ok {
				fmt.Fprintf(&out, " %s=%g", m.Name, v)
			}
		}
		if len(t.AtLeast) > 0 {
			fmt.Fprintf(&out, " at least %v", t.AtLeast)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestRead(t *testing.T) {
	const plain = "1 host values ok value=1\n1 b values ok value=2\n2 host values ok value=3\n2 b values ok value=4\n"
	for _, c := range []struct {
		name  string
		opt   Options
		texts []string
		want  string
	}{
		{"the least", Options{Better: result.Higher}, []string{"mode,value\nhost,1\nhost,3\nb,2\nb,4\n"}, plain},
		{"any order and case, BOM, CRLF, no newline at the end", Options{Better: result.Higher}, []string{"\xef\xbb\xbfVALUE , Mode\r\n1,host\r\n2,b\r\n3,host\r\n\r\n4,b"}, plain},
		{"semicolons and decimal commas", Options{Better: result.Higher}, []string{"mode;value\nhost;1,0\nb;2,00\nhost;3\nb;4.0\n"}, plain},
		{"tabs", Options{Better: result.Higher}, []string{"mode\tvalue\nhost\t1\nb\t2\nhost\t3\nb\t4\n"}, plain},
		{"quotes", Options{Better: result.Higher}, []string{"\"mode\",\"value\"\n\"host\",\"1\"\nb,2\n\"host\",3\nb,\"4\"\n"}, plain},
		{"blocks that are numbers", Options{Better: result.Higher}, []string{"mode,block,value\nhost,20,1\nb,3,2\nhost,3,3\n"}, "3 host values ok value=3\n3 b values ok value=2\n20 host values ok value=1\n"},
		{"blocks that are names", Options{Better: result.Higher}, []string{"mode,block,value\nhost,monday,1\nb,tuesday,2\nhost,tuesday,3\n"}, "1 host values ok value=1\n2 host values ok value=3\n2 b values ok value=2\n"},
		{"blocks, paired in order all the same", Options{Pairing: ByOrder, Better: result.Higher}, []string{"mode,block,value\nhost,9,1\nb,7,2\nhost,9,3\nb,,4\n"}, plain},
		{"units of one kind", Options{}, []string{"mode,value,unit\nhost,3,ms\nb,2000,us\nb,0.5,s\n"}, "1 host values ok value=0.003\n1 b values ok value=0.002\n2 b values ok value=0.5\n"},
		{"metrics of one trial", Options{Better: result.Higher}, []string{"mode,block,workload,metric,value,at_least\nhost,1,rr,rtt_p50,2,\nhost,1,rr,goodput,1,true\nhost,1,rr,zeal,3,no\n"},
			"1 host rr ok goodput=1 rtt_p50=2 zeal=3 at least [goodput]\n"},
		{"what does not count", Options{Better: result.Higher}, []string{"mode,block,value,status\nhost,1,,failed\nhost,1,5,ok\nb,1,,invalid\nb,2,7,pilot\n"},
			"1 host values failed\n1 host values ok value=5\n1 b values invalid\n2 b values failed\n"},
		{"a file a mode", Options{Better: result.Higher}, []string{"value\n1\n2\n", "value\n3\n"}, "1 a values ok value=1\n1 b values ok value=3\n2 a values ok value=2\n"},
		{"benchmarks, a file a mode", Options{}, []string{"goos: linux\nBenchmarkX-8 \t100\t 2000 ns/op\t3 B/op\nPASS\n", "BenchmarkX-8 100 4000 ns/op 5 B/op\n"},
			"1 a X-8 ok sec/op=2e-06 B/op=3\n1 b X-8 ok sec/op=4e-06 B/op=5\n"},
		{"benchmarks, mode in the name", Options{}, []string{"BenchmarkX/mode=host/n=1-8 1 2 MB/s\nBenchmarkX/n=1/mode=b-8 1 3 MB/s\n"},
			"1 host X/n=1-8 ok B/s=2e+06\n1 b X/n=1-8 ok B/s=3e+06\n"},
		{"benchmarks, another part of the name", Options{ModeBy: "/net"}, []string{"BenchmarkX/mode=1/net=host 1 2 s\nBenchmarkX/mode=1/net=b 1 3 s\n"},
			"1 host X/mode=1 ok s=2\n1 b X/mode=1 ok s=3\n"},
		{"benchmarks, the first part of the name", Options{ModeBy: "/1"}, []string{"BenchmarkX/host-4 1 2 s\nBenchmarkX/b-4 1 3 s\n"}, "1 host X-4 ok s=2\n1 b X-4 ok s=3\n"},
		{"benchmarks, mode and block in the configuration", Options{}, []string{"block: 1\nmode: host\nBenchmarkX 1 2 s\nmode: b\nBenchmarkX 1 3 s\nblock: 2\nBenchmarkX 1 4 s\n"},
			"1 host X ok s=2\n1 b X ok s=3\n2 b X ok s=4\n"},
		{"benchmarks of two packages", Options{}, []string{"mode: host\npkg: p\nBenchmarkX 1 2 s\npkg: q\nBenchmarkX 1 3 s\n"}, "1 host X ok s=2\n1 host q.X ok s=3\n"},
		{"benchmarks, times in the name of a metric", Options{}, []string{"mode: host\nBenchmarkX 1 7 p99-us 8 wait-ms/op 2 ms/op 3 p50-s 4 Mbits/sec\n"},
			"1 host X ok p99-sec=7e-06 wait-sec/op=0.008 sec/op=0.002 p50-s=3 Mbits/sec=4e+06\n"},
		{"rates of two units, and a metric of tare's in another one", Options{}, []string{"mode,metric,value,unit\nhost,x,9.5,Gbits/sec\nb,x,900,Mbits/sec\nb,x,2,MB/s\nhost,goodput,1,MB/s\n"},
			"1 host values ok goodput=8e+06 x=9.5e+09\n1 b values ok x=9e+08\n2 b values ok x=1.6e+07\n"},
		{"comments, and the separator of Excel", Options{}, []string{"sep=;\r\n# measured today\r\nmode;value;unit\r\nhost;1,5;ms\r\n# later\r\nb;2;ms\r\n"},
			"1 host values ok value=0.0015\n1 b values ok value=0.002\n"},
		{"UTF-16, little and big endian", Options{}, []string{utf16Text(false, "mode,value,unit\r\nhôst,1,µs\r\n"), utf16Text(true, "mode,value,unit\r\nb,2,µs\r\n")},
			"1 hôst values ok value=1e-06\n1 b values ok value=2e-06\n"},
		{"a table of Markdown", Options{}, []string{"# Results\n\nOf today.\n\n| Mode | Value | Unit |\n|:-----|------:|------|\n| **host** | 1 | s |\n| b | 2 | s |\n\nThe end.\n"},
			"1 host values ok value=1\n1 b values ok value=2\n"},
		{"a grid", Options{}, []string{"+------+-------+------+\n| mode | value | unit |\n+======+=======+======+\n| host | 1,5   | s    |\n+------+-------+------+\n| b    | 2     | s    |\n+------+-------+------+\n"},
			"1 host values ok value=1.5\n1 b values ok value=2\n"},
		{"pipes, and lines that are drawn", Options{}, []string{" mode | value | unit \n------+-------+------\n host | 1 | s\n(1 row)\n", "│ mode │ value │ unit │\n├──────┼───────┼──────┤\n│ b │ 2 │ s │\n"},
			"1 host values ok value=1\n1 b values ok value=2\n"},
		{"a column Type that is the metric", Options{}, []string{"Type,value\nretransmits,10\nloss_ratio,0.5\n", "Type,value\nretransmits,20\nloss_ratio,0.7\n"},
			"1 a values ok loss_ratio=0.5 retransmits=10\n1 b values ok loss_ratio=0.7 retransmits=20\n"},
		{"text that is the same in a mode, times, and names of rows", Options{Better: result.Higher}, []string{
			"mode,value,cni,when,id\nhost,1,none,2026-11-26 10:00,x1\nhost,3,none,2026-11-26 11:00,x2\nb,2,flannel,2026-11-26 10:00,y1\nb,4,flannel,,y2\n"}, plain},
		{"iperf3", Options{Modes: []NamedMode{{"host", "a.*"}, {"b", "b.txt"}}}, []string{
			`{"start":{"test_start":{"protocol":"TCP","num_streams":4,"reverse":1,"target_bitrate":2e9}},"intervals":[{"x":[1,{}]}],"end":{"sum_sent":{"bits_per_second":11,"retransmits":3},"sum_received":{"bits_per_second":10}}}`,
			`[{"end":{"sum":{"bits_per_second":5,"jitter_ms":2,"lost_percent":50}}},{"start":{},"end":{},"error":"unable to connect"}]`},
			"1 host tcp_stream x4 reverse at 2000 Mbit/s ok goodput=10 send_rate=11 retransmits=3\n1 b udp_stream ok send_rate=5 loss_ratio=0.5 jitter=0.002\n1 b stream failed\n"},
		{"iperf3 --json-stream", Options{}, []string{`{"event":"start","data":{"test_start":{"protocol":"UDP"}}}` + "\n" + `{"event":"interval","data":{"sum":{"bits_per_second":1}}}` + "\n" +
			`{"event":"end","data":{"sum_received":{"bits_per_second":7}}}` + "\n"}, "1 numbers udp_stream ok goodput=7\n"},
		{"fortio", Options{}, []string{`{"RunType":"HTTP","RequestedQPS":"9","NumThreads":2,"ActualQPS":100,"DurationHistogram":{"Avg":0.5,"Data":[{"Percent":50}],"Percentiles":[{"Percentile":50,"Value":0.25},{"Percentile":99.9,"Value":2}]}}`},
			"1 numbers HTTP x2 at 9/s ok request_rate=100 latency_mean=0.5 latency_p50=0.25 latency_p999=2\n"},
		{"netperf", Options{}, []string{"MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 198.18.0.2 () port 0 AF_INET : first burst 0\n" +
			"Throughput,Throughput Units,Elapsed Time (sec),99th Percentile Latency Microseconds\n100.5,Trans/s,10,33\n101.5,Trans/s,10,34\n",
			"MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 198.18.0.2 () port 0 AF_INET\nThroughput,Elapsed Time (sec)\n7,10.0\n"},
			"1 a TCP_RR ok transaction_rate=100.5 latency_p99=3.3e-05\n1 b TCP_STREAM ok goodput=7e+06\n2 a TCP_RR ok transaction_rate=101.5 latency_p99=3.4e-05\n"},
		{"k8s-netperf", Options{}, []string{k8sHeader + ",Avg Throughput,Throughput Metric,99%tile Observed Latency,Latency Metric\n" +
			"netperf,TCP_STREAM,false,true,false,10,1,3,1024,900.5,Mb/s,10,usec\nnetperf,TCP_STREAM,false,false,false,10,1,3,1024,800.5,Mb/s,20,usec\nnetperf,TCP_RR,true,false,true,10,2,3,64,70,OP/s,0,usec\n"},
			"1 host netperf TCP_STREAM 1024B ok goodput=9.005e+08 latency_p99=1e-05\n1 pod netperf TCP_STREAM 1024B ok goodput=8.005e+08 latency_p99=2e-05\n" +
				"1 service netperf TCP_RR 64B x2 same node ok transaction_rate=70\n"},
		{"k8s-netperf's losses, of two files", Options{}, []string{"Type," + k8sHeader + ",Value\nUDP Percent Loss,netperf,UDP_STREAM,false,false,false,10,1,3,1024,0.7\n" +
			"TCP Retransmissions,netperf,TCP_STREAM,false,false,false,10,1,3,1024,10\n", `[{"hostNetwork":false,"driver":"netperf","profile":"TCP_STREAM","messageSize":1024,"throughput":5,"tputMetric":"Mb/s","tcpRetransmits":4}]`},
			"1 a netperf UDP_STREAM 1024B pod ok loss_ratio=0.006999999999999999\n1 a netperf TCP_STREAM 1024B pod ok retransmits=10\n1 b netperf TCP_STREAM 1024B pod ok goodput=5e+06 retransmits=4\n"},
		{"what is no benchmark", Options{}, []string{
			"mode: host\n=== RUN   BenchmarkX\nBenchmarkX\nBenchmarkX: a log line\nBenchmarking 1 2 s\nBenchmarkX 1 7 p50-ns\nok  x 1s\n"}, "1 host X ok p50-sec=7e-09\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := must.Get(read(c.opt, c.texts...))(t)
			must.Equal(t, c.want, rows(n))
		})
	}
}

// Input that cannot be analysed is an error with its line.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		opt   Options
		texts []string
		want  string
	}{
		{"empty", Options{}, []string{""}, "read numbers.csv: the file is empty: it needs a header line with the columns mode and value"},
		{"a header alone", Options{}, []string{"mode,value\n"}, "there are no values"},
		{"no value counts", Options{}, []string{"mode,value,status\nhost,1,failed\n"}, "there are no values"},
		{"no header", Options{}, []string{"host,1\nhost,2\n"}, `read numbers.csv: line 1: there is no column value: the header has "host", "1"; mode and value are required, as in mode,block,metric,unit,value`},
		{"no mode", Options{}, []string{"\n\nvalue\n1\n"}, `read numbers.csv: line 3: there is no column mode: the header has "value"; mode and value are required, as in mode,block,metric,unit,value`},
		{"a column twice", Options{}, []string{"mode,value,Mode\n"}, "read numbers.csv: line 1: two columns mode"},
		{"text in a number", Options{}, []string{"mode,value\nhost,fast\nhost,1 ms\nhost,0x10\n"},
			`read numbers.csv: line 2: value "fast" is not a number; line 3: value "1 ms" is not a number; line 4: value "0x10" is not a number`},
		{"a comma where it parts fields", Options{}, []string{"mode,value\nhost,\"1,5\"\n"}, `read numbers.csv: line 2: value "1,5" is not a number`},
		{"thousands", Options{}, []string{"mode;value\nhost;1.234,5\nhost;1,234,5\n"}, `read numbers.csv: line 2: value "1.234,5" is not a number; line 3: value "1,234,5" is not a number`},
		{"negative, infinite, not a number, too large", Options{}, []string{"mode,value\nhost,-1\nhost,inf\nhost,NaN\nhost,1e400\n"},
			"read numbers.csv: line 2: value -1 is negative, which rates, times, counts and shares cannot be; line 3: value +Inf is not finite; " +
				`line 4: value NaN is not finite; line 5: value "1e400" is too large`},
		{"too large in its base unit", Options{}, []string{"mode,value,unit\nhost,1e308,Gbit/s\n"}, "read numbers.csv: line 2: value +Inf is not finite"},
		{"too few fields", Options{}, []string{"mode,value\nhost\nhost,1,2\n"}, "read numbers.csv: line 2: 1 fields, but the header has 2; line 3: 3 fields, but the header has 2"},
		{"an open quote", Options{}, []string{"mode,value\nhost,1\nhost,\"2\n"}, `read numbers.csv: line 3: extraneous or missing " in quoted-field`},
		{"an empty mode", Options{}, []string{"mode,value\n ,1\n"}, "read numbers.csv: line 2: no mode"},
		{"an escape sequence", Options{}, []string{"mode,value\n\x1b[31m,1\n"}, `read numbers.csv: line 2: mode "\x1b[31m" has characters that cannot be printed`},
		{"a long name", Options{}, []string{"mode,value\n" + strings.Repeat("x", 201) + ",1\n"}, "read numbers.csv: line 2: a mode of 201 bytes; use at most 200"},
		{"a block twice", Options{}, []string{"mode,block,value\nhost,1,1\nhost,2,2\nhost,1,3\n"},
			"read numbers.csv: line 4: a second value of host values in block 1, after line 2; --pairing none uses all values"},
		{"a block missing", Options{}, []string{"mode,block,value\nhost,1,1\nhost,,2\n"}, "read numbers.csv: line 3: no block (not required with --pairing none)"},
		{"no blocks to pair by", Options{Pairing: ByBlock}, []string{"mode,value\nhost,1\n"}, "values cannot be paired by block, because they have none: add a column block, or use --pairing order or none"},
		{"blocks in one file only", Options{}, []string{"mode,block,value\nhost,1,1\n", "mode,value\nb,1\n"}, "dir/b.txt line 2 has no block, but other values have one: add it, or use --pairing order or none"},
		{"better than what", Options{}, []string{"mode,value,better\nhost,1,more\n"}, `read numbers.csv: line 2: better is "more"; use higher or lower`},
		{"two minds", Options{}, []string{"mode,value,better\nhost,1,lower\nhost,1,higher\n"}, "read numbers.csv: line 3: for value, lower is better, not higher"},
		{"against what is known", Options{}, []string{"mode,metric,value,better,unit\nhost,goodput,1,lower,\nhost,goodput,1,,s\n"},
			"read numbers.csv: line 2: for goodput, higher is better, not lower; line 3: goodput is in bit/s, not in s"},
		{"units of two kinds", Options{}, []string{"mode,value,unit\nhost,1,ms\nhost,1,Mbit/s\n"}, "read numbers.csv: line 3: value has the unit bit/s here and s in line 2"},
		{"two baselines", Options{}, []string{"mode,baseline,value\nb,host,1\nb,c,1\n"}, `read numbers.csv: line 3: "b" has the baseline "c" here and "host" before`},
		{"no such baseline", Options{Baseline: "hots"}, []string{"mode,value\nhost,1\nb,1\n"}, `the baseline "hots" is not among the modes: host, b`},
		{"at least what", Options{}, []string{"mode,value,at_least\nhost,1,perhaps\n"}, `read numbers.csv: line 2: at_least is "perhaps"; use true or false`},
		{"no direction", Options{}, []string{"mode,metric,value\nhost,a,1\nhost,lost,1\nhost,goodput,1\n"},
			`which direction is better is not known for "a", "lost": say --better lower or --better higher, or add a column better or a unit`},
		{"a direction against that of a unit", Options{Better: result.Lower}, []string{"mode,value,unit\nhost,1,QPS\n"},
			`--better lower is for metrics whose direction is not known, and contradicts that of "value" (higher): leave it out`},
		{"a column that tells values apart", Options{Better: result.Lower}, []string{"mode,value,proto\nhost,1,tcp\nhost,2,udp\nb,1,tcp\n"},
			`values that differ in the column "proto" ("tcp" in line 2, "udp" in line 3) are not values of one thing: name that column metric, workload or mode, or leave it out`},
		{"a second table", Options{}, []string{"|mode|value|\n|--|--|\n|host|1|\n\n|a|b|\n|--|--|\n"}, "read numbers.csv: line 5: a second table with other columns; give a file with one table each"},
		{"JSON of something else", Options{}, []string{`{"results":[1],"x":2}`}, `read numbers.csv: document 1 is JSON with the keys "results", "x", and not that of iperf3, fortio or k8s-netperf: ` + aTable},
		{"JSON that ends early", Options{}, []string{`{"end":{"sum_received":{`}, "read numbers.csv: its JSON is truncated: give the whole output of a program that ended"},
		{"JSON that is none", Options{}, []string{`{"end":x}`}, "read numbers.csv: it begins as JSON and is none after byte 6: invalid character 'x' looking for beginning of value"},
		{"JSON of many levels", Options{}, []string{strings.Repeat("[", 99)}, "read numbers.csv: its JSON has more than 64 levels"},
		{"more lost than sent", Options{}, []string{`{"end":{"sum":{"bits_per_second":5,"lost_percent":134}}}`}, "read numbers.csv: document 1: iperf3 says that 134 % was lost, more than was sent"},
		{"iperf3 without an end", Options{}, []string{`{"start":{},"intervals":[],"end":{}}`}, "read numbers.csv: document 1 is the JSON of iperf3 without a rate: its test did not end"},
		{"the trials of a run", Options{}, []string{`{"schema":"tare.trial/1","seq":1}`}, "read numbers.csv: these are the trials of a run of tare: use tare export RUN | tare judge -"},
		{"a later setting of k8s-netperf", Options{}, []string{k8sHeader + ",Virt,Avg Throughput,Throughput Metric\nnetperf,TCP_STREAM,false,true,false,10,1,3,1024,kvm,900,Mb/s\nnetperf,TCP_STREAM,false,true,false,10,1,3,1024,none,800,Mb/s\n"},
			`values that differ in the column "virt" ("kvm" in line 2, "none" in line 3) are not values of one thing: name that column metric, workload or mode, or leave it out`},
		{"CPUs of k8s-netperf", Options{}, []string{k8sHeader + ",Idle CPU\n"}, "read numbers.csv: this is a table of k8s-netperf with the use of CPUs, which judge does not read: give result-*.csv and loss-rt-result-*.csv"},
		{"many", Options{}, []string{"mode,value\n" + strings.Repeat("host,x\n", 30)}, `read numbers.csv: ` + strings.TrimSuffix(many(2, 9), "; ") + "; and 22 more"},
		{"no benchmark", Options{Format: Bench}, []string{"PASS\n"}, "read numbers.csv: there is no benchmark line (BenchmarkName-8 100 123 ns/op)"},
		{"a benchmark of no mode", Options{}, []string{"goos: linux\nBenchmarkX 1 2 s\n"}, `read numbers.csv: line 2: the mode of "X" is unknown: use one file per mode, ` +
			"a part /mode=NAME of the name, or a line mode: NAME before it; or set another source with --mode-by"},
		{"no such part", Options{ModeBy: "/net"}, []string{"BenchmarkX/mode=a 1 2 s\n"}, `read numbers.csv: line 1: the name "X/mode=a" has no part /net for the mode`},
		{"no such configuration", Options{ModeBy: "net"}, []string{"BenchmarkX/mode=a 1 2 s\n"}, `read numbers.csv: line 1: there is no line "net: ..." for the mode before "X/mode=a"`},
		{"text in a benchmark's number", Options{}, []string{"mode: a\nBenchmarkX 1 2 s fast allocs/op\n"}, `read numbers.csv: line 2: value "fast" is not a number`},
		{"a value without unit", Options{}, []string{"mode: a\nBenchmarkX 1 2 s 3\n"}, `read numbers.csv: line 2: a value without a unit: "3"`},
		{"a unit's direction", Options{}, []string{"Unit s better=left\nmode: a\nBenchmarkX 1 2 s\n"}, `read numbers.csv: line 1: better is "left"; use higher or lower`},
		{"a line without end", Options{}, []string{"mode: a\nBenchmarkX 1 2 " + strings.Repeat("s", 1<<20)}, "read numbers.csv: line 2 is longer than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := read(c.opt, c.texts...)
			must.Require(t, err != nil, "it was read: %s", rows(n))
			must.Equal(t, c.want, err.Error())
		})
	}
}

// What is not read is named for what it is, with the way to convert it.
func TestReadNames(t *testing.T) {
	for want, start := range map[string]string{
		"this is a packet capture (pcap), not": "\xd4\xc3\xb2\xa1\x02\x00", "a packet capture (pcapng)": "\x0a\x0d\x0d\x0a", "gzip -dc FILE | tare judge -": "\x1f\x8b\x08",
		"save the sheet as CSV": "PK\x03\x04", "a PDF document": "%PDF-1.7\n", "a page (HTML or XML)": "<!DOCTYPE html>\n", "a binary file": "\x01\x00\x02",
		"wrk's text output": "Running 30s test @ http://198.18.0.2/\n  12 threads and 400 connections\n", "with --json": "Connecting to host 198.18.0.2, port 5201\n",
		"iperf's text output": "-----\nClient connecting to 198.18.0.2, TCP port 5001\n", "netperf's text output": "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to x () port 0\nRecv   Send    Send\nSocket Socket\n",
		"ping's text output": "PING 198.18.0.2 (198.18.0.2) 56(84) bytes of data.\n", "qperf's text output": "tcp_lat:\n    latency  =  10 us\n", "vegeta's": "Requests      [total, rate, throughput]  1, 2, 3\n",
		"ab's text output": "This is ApacheBench, Version 2.3\n", "metrics of Prometheus": "# HELP x y\n", "with -json FILE": "Fortio 1.60\nStarting at 8 qps with 8 thread(s)\n",
	} {
		must.FailLine(t, want, must.Err(read(Options{}, start)), want)
	}
}

// Files with one trial each are of the mode that their names have.
func TestModesOfFiles(t *testing.T) {
	for _, c := range []struct{ files, patterns, want string }{
		{"host-1 host-2 pod-1 pod-2", "", "host host pod pod"}, {"host_run1 host_run2 pod", "", "host host pod"}, {"mtu-1500 mtu-9000", "", "mtu-1500 mtu-9000"},
		{"r-1732600000 r-1732600099", "", "r r"}, {"a/1 a/2 b/1 b/2", "", "a a b b"}, {"a/x b/x", "", "a b"}, {"a/x b/y", "", "x y"}, {"d/1 d/2", "", "d d"}, {"3", "", "3"},
		{"x/a1 x/a2 y/b", "m=a? n=y", "m m n"}, {"x/a1 y/a1", "m=x/a*", "m y"},
	} {
		var sources []Source
		var modes []NamedMode
		for f := range strings.FieldsSeq(c.files) {
			sources = append(sources, Source{Name: f + ".json"})
		}
		for p := range strings.FieldsSeq(c.patterns) {
			modes = append(modes, must.Get(ParseNamedMode(strings.Replace(p, "=a?", "=a?.json", 1)))(t))
		}
		names, got := nameFiles(sources, modes), []string(nil)
		for _, s := range sources {
			got = append(got, names.trials[s.Name])
		}
		must.EqualFor(t, c.files, c.want, strings.Join(got, " "))
	}
}

func many(from, to int) string {
	var s strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&s, "line %d: value \"x\" is not a number; ", i)
	}
	return s.String()
}

// Input that can be analysed but needs attention results in a warning.
func TestReadWarns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       []string
	}{
		{"nothing to say", "mode,block,value,better\nhost,1,1,lower\nhost,2,1,lower\nb,1,1,lower\nb,2,1,lower\n", Options{}, nil},
		{"said by a flag", "mode,value\nhost,1\nhost,2\n", Options{Better: result.Lower}, nil},
		{"said by the unit", "mode,value,unit\nhost,1,ms\nhost,2,ms\n", Options{}, nil},
		{"a column too many", "mode,value,mood,seq,unit\nhost,1,x,1,s\nhost,2,x,1,s\n", Options{}, []string{"unknown_column run"}},
		{"no value", "mode,value,unit\nhost,1,s\nhost,,s\nhost,2,s\n", Options{}, []string{"missing_value run"}},
		{"one value, and blocks of one alone", "mode,block,value,unit\nhost,1,1,s\nhost,2,2,s\nhost,3,2,s\nb,2,1,s\n", Options{},
			[]string{"one_value b values value", "missing_block b values value"}},
		{"zeros", "mode,metric,value\nhost,goodput,0\nhost,goodput,1\nhost,retransmits,0\nhost,retransmits,0\n", Options{}, []string{"zero_value run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := must.Get(read(c.opt, c.text))(t)
			var got []string
			for _, w := range n.Warnings {
				got = append(got, w.Code+" "+w.Scope)
			}
			must.EqualFor(t, n.Warnings, c.want, got)
		})
	}
}

func TestBaselines(t *testing.T) {
	const table = "mode,value,unit\nb,1,s\nhost,1,s\nc,1,s\n"
	for _, c := range []struct {
		name, text, flag, want string
	}{
		{"host", table, "", "b:host host: c:host "},
		{"the flag", table, "c", "b:c host:c c: "},
		{"the first", strings.ReplaceAll(table, "host", "h"), "", "b: h:b c:b "},
		{"what the numbers say", "mode,baseline,value,unit\nb,host,1,s\nhost,,1,s\nc,local,1,s\nlocal,,1,s\n", "", "b:host host: c:local local: "},
		{"the flag before the numbers", "mode,baseline,value,unit\nb,host,1,s\nhost,,1,s\n", "b", "b: host:b "},
	} {
		n := must.Get(read(Options{Baseline: c.flag}, c.text))(must.Named(t, c.name))
		got := ""
		for _, m := range n.Input.Modes {
			got += m.ID + ":" + m.Baseline + " "
		}
		must.EqualFor(t, c.name, c.want, got)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestReadPassesErrorsOn(t *testing.T) {
	for _, f := range []Format{CSV, Bench, Auto} {
		must.FailFor(t, f, must.Err(Read([]Source{{"x", io.MultiReader(strings.NewReader("mode,value\nhost,1\n"), broken{})}}, Options{Format: f})), "read x: the disk is gone")
	}
}

// judgeable checks what must hold for any input that was read.
func judgeable(t *testing.T, n Numbers) {
	t.Helper()
	for _, tr := range n.Input.Trials {
		for name, v := range tr.Metrics {
			must.Require(t, !math.IsNaN(v) && !math.IsInf(v, 0) && v >= 0, "%s of %s is %g", name, tr.Mode, v)
		}
	}
	n.Input.Rule.Margin = 0.05
	cells, warnings := verdict.Judge(n.Input)
	must.Get(store.EncodeRun(result.Run{Cells: cells, Warnings: append(n.Warnings, warnings...), Metrics: n.Input.Metrics, Modes: n.Input.Modes}))(t)
	for _, w := range warnings {
		must.Require(t, w.Code != "unknown_metric" && w.Code != "bad_value", "the analysis refuses the input: %+v", w)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("mode,value\nhost,1\nb,2\n", "")
	f.Add("mode;block;value;unit\nhost;1;1,5;ms\nb;1;2,5;ms\n", "block")
	f.Add("mode,value,metric,better,baseline,status,at_least\nhost,1,goodput,higher,,ok,\nb,0,goodput,,host,failed,true\n", "order")
	f.Add("\xef\xbb\xbf\"mode\",\"value\"\r\n\"a\nb\",1\r\n", "none")
	f.Fuzz(func(t *testing.T, text, pairing string) {
		if n, err := read(Options{Format: CSV, Pairing: Pairing(pairing)}, text); err == nil {
			judgeable(t, n)
		} else if strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}

// FuzzRead reads any text as what it is taken for, or as each of the other formats.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"sep=;\nmode;value\nhost;1,5\n", "| mode | value |\n|--|--|\n| a | 1 |\n", utf16Text(false, "mode,value\na,1\n"), k8sHeader + ",Type,Value\n", "mode,value,Type\na,1,x\na,2,y\n",
		`{"start":{"test_start":{"protocol":"TCP"}},"end":{"sum_received":{"bits_per_second":1e9}}}`, `{"event":"end","data":{"sum":{"lost_percent":3,"bits_per_second":1}}}`,
		`[{"profile":"TCP_RR","driver":"netperf","throughput":1,"tputMetric":"OP/s"}]`, `{"DurationHistogram":{"Percentiles":[{"Percentile":50,"Value":1}]},"ActualQPS":3}`,
		"MIGRATED TCP STREAM TEST from a () to b ()\nThroughput,Throughput Units\n1,10^6bits/s\n"} {
		f.Add(text, string(Auto))
	}
	f.Add("Throughput\n1\n", string(Netperf))
	f.Fuzz(func(t *testing.T, text, format string) {
		if n, err := read(Options{Format: Format(format), Better: result.Lower}, text); err == nil {
			judgeable(t, n)
		} else if strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}

func FuzzBench(f *testing.F) {
	f.Add("goos: linux\nmode: a\nBenchmarkX-8 100 5 ns/op 3 B/op\n", "")
	f.Add("Unit s better=higher\nBenchmarkX/mode=a/n=1-8 100 5 s\nBenchmarkX/mode=b/n=1-8 100 5 s\n", "/mode")
	f.Add("pkg: a\nblock: 1\nBenchmarkX/1-8 1 5 MB/s\npkg: b\nBenchmarkX/1-8 1 0 MB/s\n", "/1")
	f.Fuzz(func(t *testing.T, text, by string) {
		if n, err := read(Options{Format: Bench, ModeBy: by}, text); err == nil {
			judgeable(t, n)
		}
	})
}

// Reading uses memory in proportion to the values: at most 1500 bytes for each of 100 000 values in
// 100 cells, most of it for the resulting trials.
func TestReadingManyValues(t *testing.T) {
	const n = 100_000
	var text strings.Builder
	text.WriteString("block,mode,workload,metric,value\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,mode%d,w%d,goodput,%d\n", i/100, i%10, i/10%10, 1_000_000+i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	numbers, err := read(Options{}, text.String())
	runtime.ReadMemStats(&after)
	must.Require(t, err == nil && len(numbers.Input.Trials) == n && len(numbers.Warnings) == 0, "%d trials, warnings %v: %v", len(numbers.Input.Trials), numbers.Warnings, err)
	got := after.TotalAlloc - before.TotalAlloc
	must.True(t, got <= 1500*n, "%d bytes were allocated, %d a value", got, got/n)
}
