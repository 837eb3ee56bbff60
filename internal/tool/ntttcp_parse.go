package tool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"tare/internal/warning"
)

// ntttcpDoc is the part of both tools' output that is read.
//
// The Windows tool counts retransmitted segments of the whole machine (packets_retransmitted), so they
// are not read. Not read are also values with the same name but different meanings: MB and MB/s (10^6 bytes on Linux,
// 2^20 on Windows), the version (a constant on Linux), cpu_busy_all (the process, in percent of one
// core) and cpu (the machine), cycles_per_byte and cycles. Bps means bytes per second in both. mbps
// is decimal on Windows; on Linux it was 2^20 bits before Bps was added.
type ntttcpDoc struct {
	XMLName    xml.Name
	Version    string         `xml:"version,attr"`
	Throughput []ntttcpMetric `xml:"throughput"`
	Realtime   ntttcpMetric   `xml:"realtime"`
	Retrans    []ntttcpMetric `xml:"tcp_retransmits"`
	RTT        *ntttcpMetric  `xml:"tcp_average_rtt"`
	Parameters struct {
		UDP string `xml:"udp"`
	} `xml:"parameters"`
}

type ntttcpMetric struct {
	Metric string `xml:"metric,attr" json:"metric"`
	Value  string `xml:",chardata" json:"value"`
}

func readNtttcp(j job, out output) (parsed, error) {
	text := out.file
	if len(text) == 0 {
		return parsedOutput{}, fmt.Errorf("it wrote no results%s", output{stderr: append(out.stdout, out.stderr...)}.hint())
	}
	d, err := parseNtttcp(text)
	if err != nil {
		return parsedOutput{}, err
	}
	if udp := strings.EqualFold(d.Parameters.UDP, "True"); d.Parameters.UDP != "" && udp != j.udp() {
		return parsedOutput{}, fmt.Errorf("its results are not of %s", j.Kind)
	}
	if want := map[bool]string{true: "ntttcps", false: "ntttcpr"}[j.sends()]; d.XMLName.Local != want {
		return parsedOutput{}, fmt.Errorf("its results are of %s, but %s was run", d.XMLName.Local, want)
	}
	return d.seen(j)
}

// seen returns one flow for all streams: ntttcp distinguishes them only as threads, and its values
// are of its own window.
func (d ntttcpDoc) seen(j job) (parsedOutput, error) {
	seconds, err := parseFinite(d.Realtime.Value)
	if err != nil || seconds <= 0 {
		return parsedOutput{}, errors.New("its results have no realtime")
	}
	rate, err := d.rate()
	if err != nil {
		return parsedOutput{}, err
	}
	b, err := count(rate/8*seconds, "bytes")
	if err != nil {
		return parsedOutput{}, err
	}
	f := flow{sends: j.sends(), bytes: b}
	v := row{start: j.Warmup.Seconds(), seconds: seconds, bytes: b}
	if n, ok := metric(d.Retrans, "retrans_segs"); ok && f.sends && !j.udp() {
		f.hasSegments = true
		if v.retransmits, err = count(n, "retransmits"); err != nil {
			return parsedOutput{}, err
		}
	}
	if d.RTT != nil && f.sends {
		if us, err := parseFinite(d.RTT.Value); err == nil && us > 0 {
			f.rtt = us / 1e6
		}
	}
	f.rows = []row{v}
	s := parsedOutput{interval: seconds, flows: []flow{f}, merged: true}
	if !j.udp() {
		s.notes = append(s.notes, warning.NewNote(warning.ToolIgnored, "ntttcp sets neither the congestion control nor, on Linux, the buffers, so the kernel's defaults apply"))
	}
	return s, nil
}

// rate returns the throughput in bit/s.
func (d ntttcpDoc) rate() (float64, error) {
	if bps, ok := metric(d.Throughput, "Bps"); ok && bps > 0 {
		return bps * 8, nil
	}
	if strings.HasSuffix(d.Version, "-linux") {
		return 0, errors.New("its results have no throughput in Bps: this ntttcp is too old, and its mbps are not decimal megabits")
	}
	if mbps, ok := metric(d.Throughput, "mbps"); ok {
		return mbps * 1e6, nil
	}
	return 0, errors.New("its results have no throughput in Bps or mbps")
}

func metric(list []ntttcpMetric, name string) (float64, bool) {
	for _, m := range list {
		if m.Metric == name {
			f, err := parseFinite(m.Value)
			return f, err == nil
		}
	}
	return 0, false
}

// parseNtttcp reads the XML of either tool, or the JSON of the Linux one.
func parseNtttcp(text []byte) (ntttcpDoc, error) {
	text = bytes.TrimSpace(toUTF8(text))
	if bytes.HasPrefix(text, []byte("{")) {
		return parseNtttcpJSON(text)
	}
	var d ntttcpDoc
	decoder := xml.NewDecoder(bytes.NewReader(text))
	// The text has been converted, whatever its declaration says.
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	if err := decoder.Decode(&d); err != nil {
		if strings.Contains(err.Error(), "unexpected EOF") {
			return d, errors.New("its results are truncated")
		}
		return d, fmt.Errorf("its results are not XML: %.60q", text)
	}
	if !strings.HasPrefix(d.XMLName.Local, "ntttcp") {
		return d, fmt.Errorf("its results are <%s>, not those of ntttcp", d.XMLName.Local)
	}
	return d, nil
}

// toUTF8 converts a file that a Windows program wrote: UTF-16 with a byte order mark, as a
// redirected output is, or the system's code page, in which the tool writes the name of the computer.
// What is not valid is replaced; the values that are read are ASCII.
func toUTF8(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return bytes.ToValidUTF8(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\ufffd"))
	}
	units := make([]uint16, 0, len(text)/2)
	for text = text[2:]; len(text) >= 2; text = text[2:] {
		units = append(units, order.Uint16(text))
	}
	return []byte(string(utf16.Decode(units)))
}

// parseNtttcpJSON reads the same values from JSON, where every value is a string, and the keys of
// retransmits and of the round trip are irregular.
func parseNtttcpJSON(text []byte) (ntttcpDoc, error) {
	type body struct {
		Version     string         `json:"version"`
		Throughputs []ntttcpMetric `json:"throughputs"`
		Realtime    ntttcpText     `json:"realtime"`
		Retrans     []ntttcpMetric `json:"tcp_retransmits"`
		RTT         ntttcpText     `json:"tcpAverageRtt metric"`
		Parameters  struct {
			UDP string `json:"udp"`
		} `json:"parameters"`
	}
	var top map[string]body
	if err := json.Unmarshal(text, &top); err != nil {
		return ntttcpDoc{}, fmt.Errorf("its results are not the JSON of ntttcp: %w", err)
	}
	for _, role := range []string{"ntttcps", "ntttcpr"} {
		b, ok := top[role]
		if !ok {
			continue
		}
		d := ntttcpDoc{XMLName: xml.Name{Local: role}, Version: b.Version, Throughput: b.Throughputs, Realtime: b.Realtime.metric(), Retrans: b.Retrans}
		d.Parameters.UDP = b.Parameters.UDP
		if rtt := b.RTT.metric(); rtt.Value != "" {
			d.RTT = &rtt
		}
		return d, nil
	}
	return ntttcpDoc{}, errors.New("its results are JSON, but neither of ntttcps nor of ntttcpr")
}

// ntttcpText is a value that is a string in one version and an object with a metric in another.
type ntttcpText struct{ m ntttcpMetric }

func (t *ntttcpText) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		return json.Unmarshal(text, &t.m)
	}
	return json.Unmarshal(text, &t.m.Value)
}

func (t ntttcpText) metric() ntttcpMetric { return t.m }
