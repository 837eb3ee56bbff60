package judge

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// sniff detects the format from the start of a file. An error names what the file is if it cannot be
// read, and how to convert it.
func sniff(start []byte) (Format, error) {
	if o := recognize(start); o != nil {
		return "", o
	}
	for line := range bytes.Lines(start) {
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		switch {
		case text[0] == '{' || text[0] == '[':
			return JSON, nil
		case banner(text):
			return Netperf, nil
		case hasTable(start):
			return Table, nil
		case isBench(text):
			return Bench, nil
		}
		return CSV, nil
	}
	return CSV, nil
}

// isBench reports whether a line begins the output of Go's benchmarks.
func isBench(text string) bool {
	key, _, ok := config(text)
	return ok && !strings.ContainsAny(key, ",;\t|") || strings.HasPrefix(text, "Benchmark") || strings.HasPrefix(text, "Unit ") ||
		strings.HasPrefix(text, "=== RUN") || strings.HasPrefix(text, "testing: ")
}

// recognize returns an error for a file that is known and not read, nil for any other.
func recognize(start []byte) error {
	for _, k := range binaries() {
		if bytes.HasPrefix(start, []byte(k.start)) {
			return fmt.Errorf("this is %s, not a table of values: %s", k.what, k.instead)
		}
	}
	text := start[:min(len(start), 4<<10)]
	for _, k := range outputs() {
		if regexp.MustCompile(`(?m)` + k.start).Match(text) {
			return fmt.Errorf("this is %s, which judge does not read: %s", k.what, k.instead)
		}
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return errors.New("this is a binary file, not a table of values: write a table with the columns mode and value")
	}
	return nil
}

// kind is a kind of file: how it starts, what it is, and what to give to judge instead.
type kind struct{ start, what, instead string }

// aTable is what can always be judged.
const aTable = "write a table with the columns mode, metric, value and unit, a line for each trial"

// binaries are kinds of files by their first bytes.
func binaries() []kind {
	const capture, capturing = "a packet capture (pcap)", "compute a value for each trial, for example with tshark -r FILE -q -z io,stat,0 or capinfos -T, and write a table with the columns mode and value"
	return []kind{
		{"\xd4\xc3\xb2\xa1", capture, capturing}, {"\xa1\xb2\xc3\xd4", capture, capturing}, {"\x4d\x3c\xb2\xa1", capture, capturing},
		{"\xa1\xb2\x3c\x4d", capture, capturing}, {"\x0a\x0d\x0d\x0a", "a packet capture (pcapng)", capturing},
		{"\x1f\x8b", "compressed with gzip", "gzip -dc FILE | tare judge -"}, {"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -dc FILE | tare judge -"},
		{"\xfd7zXZ", "compressed with xz", "xz -dc FILE | tare judge -"}, {"BZh", "compressed with bzip2", "bzip2 -dc FILE | tare judge -"},
		{"PK\x03\x04", "a zip archive or a spreadsheet (xlsx, ods)", "unpack it, or save the sheet as CSV"},
		{"\xd0\xcf\x11\xe0", "a spreadsheet or a document (xls, doc)", "save the sheet as CSV"}, {"%PDF-", "a PDF document", "copy its table into a CSV file"},
		{"\x89PNG", "a picture (PNG)", aTable}, {"\x7fELF", "a program", aTable},
	}
}

// outputs are kinds of text by a line of them.
func outputs() []kind {
	return []kind{
		{`\A\s*(?i:<!doctype html|<html|<\?xml)`, "a page (HTML or XML)", "save its table as CSV"},
		{`^Running .+ test @ `, "wrk's text output", `write "Requests/sec" and the percentiles of --latency of each run to a table with the columns mode, metric, value and unit`},
		{`^\[ *(ID|\d+)\]\s+(Interval|local) .*`, "iperf's text output", "run iperf3 with --json, and give the files to judge; or write the rates to a table with the columns mode, value and unit"},
		{`^(Connecting to host .+, port \d+|Client connecting to .+, (TCP|UDP) port \d+|Server listening on .*\d+)`, "iperf's text output", "run iperf3 with --json, and give the files to judge; or write the rates to a table with the columns mode, value and unit"},
		{`^Recv +Send +Send\s*$|^Local /Remote\s*$|^Socket +Message +Elapsed`, "netperf's text output", "run netperf with -- -o THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY,P99_LATENCY, and give the CSV to judge"},
		{`^PING .+ bytes of data`, "ping's text output", `write the time of each run, such as its avg of "rtt min/avg/max/mdev", to a table with the columns mode, value and unit`},
		{`^This is ApacheBench`, "ab's text output", aTable}, {`^Requests +\[total, rate, throughput\]`, "vegeta's text output", aTable},
		{`^(tcp|udp|rc|ud|uc)_(lat|bw):\s*$`, "qperf's text output", aTable}, {`^sockperf: `, "sockperf's text output", aTable},
		{`^Summary:\s*\n +Total:`, "hey's text output", "run hey with -o csv for single requests, or " + aTable}, {`^\s+(✓|execution:) `, "k6's text output", aTable},
		{`^(# target \d+%|Starting at .+ qps|All done \d+ calls)`, "fortio's text output", "run fortio with -json FILE, and give the file to judge"},
		{`^.* │ .*(sec/op|B/op|B/s).*│`, "benchstat's output", "give the files that benchstat read to judge"},
		{`^# HELP \S+ `, "metrics of Prometheus", aTable},
		{`^\d\d:\d\d:\d\d\.\d{6} (IP6?|ARP)\b`, "tcpdump's text output", aTable},
	}
}
