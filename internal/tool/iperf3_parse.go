package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// iperf3Doc is the part of the output of iperf3 -J that is read.
type iperf3Doc struct {
	Start     iperf3Start      `json:"start"`
	Intervals []iperf3Interval `json:"intervals"`
	End       iperf3End        `json:"end"`
	Error     string           `json:"error"`
}

type iperf3Start struct {
	Version       string  `json:"version"`
	SndbufActual  float64 `json:"sndbuf_actual"`
	RcvbufActual  float64 `json:"rcvbuf_actual"`
	TCPMSS        float64 `json:"tcp_mss"`
	TCPMSSDefault float64 `json:"tcp_mss_default"`
	TestStart     struct {
		Protocol string  `json:"protocol"`
		Blksize  float64 `json:"blksize"`
	} `json:"test_start"`
}

type iperf3Interval struct {
	Streams []iperf3Row `json:"streams"`
}

type iperf3End struct {
	Streams []struct {
		Sender   *iperf3Row `json:"sender"`
		Receiver *iperf3Row `json:"receiver"`
		UDP      *iperf3Row `json:"udp"`
	} `json:"streams"`
	SumReceived        *iperf3Row `json:"sum_received"`
	SumReceivedReverse *iperf3Row `json:"sum_received_bidir_reverse"`
	SenderCongestion   string     `json:"sender_tcp_congestion"`
	ReceiverCongestion string     `json:"receiver_tcp_congestion"`
}

// iperf3Row is an interval or a total of one stream. Its seconds are read only in intervals: in the
// receiver's totals they are the sender's.
type iperf3Row struct {
	Socket      int      `json:"socket"`
	Start       float64  `json:"start"`
	Seconds     float64  `json:"seconds"`
	Bytes       float64  `json:"bytes"`
	Retransmits *float64 `json:"retransmits"`
	MeanRTT     float64  `json:"mean_rtt"` // us
	Packets     *float64 `json:"packets"`
	Lost        *float64 `json:"lost_packets"`
	OutOfOrder  float64  `json:"out_of_order"`
	Omitted     bool     `json:"omitted"`
	Sender      bool     `json:"sender"`
}

func readIperf3(j job, out output) (parsed, error) {
	d, err := parseIperf3(out.stdout)
	if err != nil {
		return parsedOutput{}, fmt.Errorf("%w%s", err, out.hint())
	}
	if d.Error != "" {
		return parsedOutput{}, explainIperf3(j, d.Error)
	}
	if len(d.Intervals) == 0 || len(d.End.Streams) == 0 {
		return parsedOutput{}, errors.New("its output has no values")
	}
	if got := d.Start.TestStart.Protocol; got != "" && got != strings.ToUpper(j.Kind[:3]) {
		return parsedOutput{}, fmt.Errorf("its output is of %s, not of %s", got, j.Kind)
	}
	s := parsedOutput{
		interval: j.interval(), sendBuffer: int(d.Start.SndbufActual), recvBuffer: int(d.Start.RcvbufActual),
		mss: int(max(d.Start.TCPMSS, d.Start.TCPMSSDefault)), congestion: d.End.ReceiverCongestion,
	}
	if j.sends() {
		s.congestion = d.End.SenderCongestion
	}
	if s.flows, err = d.flows(j); err != nil {
		return parsedOutput{}, err
	}
	if j.udp() {
		s.notes, err = d.datagrams(j, s.flows)
	}
	return s, err
}

// parseIperf3 reads one JSON object, or the lines of --json-stream.
func parseIperf3(text []byte) (iperf3Doc, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	var doc iperf3Doc
	var end int64 // of the values so far
	for n := 0; ; n++ {
		var value json.RawMessage
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) && n > 0 {
			return doc, nil
		}
		if errors.Is(err, io.EOF) {
			return doc, errors.New("it printed nothing")
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return doc, errors.New("its output is truncated")
		}
		if err != nil {
			return doc, notJSON(text[end:], n)
		}
		end = dec.InputOffset()
		if err := doc.addJSON(value); err != nil {
			return doc, fmt.Errorf("its JSON is not that of iperf3: %w", err)
		}
	}
}

// notJSON is the error about text that is not JSON, after n values that were.
func notJSON(text []byte, n int) error {
	if n > 0 {
		return fmt.Errorf("its output has text after its JSON, which is complete: %.60q", bytes.TrimSpace(text))
	}
	return fmt.Errorf("its output is not JSON: %.60q", text)
}

// addJSON adds a whole object or one event.
func (d *iperf3Doc) addJSON(value json.RawMessage) error {
	var event struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(value, &event); err != nil {
		return err
	}
	switch event.Event {
	case "":
		return json.Unmarshal(value, d)
	case "start":
		return json.Unmarshal(event.Data, &d.Start)
	case "interval":
		var i iperf3Interval
		err := json.Unmarshal(event.Data, &i)
		d.Intervals = append(d.Intervals, i)
		return err
	case "end":
		return json.Unmarshal(event.Data, &d.End)
	case "error":
		return json.Unmarshal(event.Data, &d.Error)
	}
	return nil // the other endpoint's output, or an event of a later version
}

// flows collects the intervals of each stream, and the totals of this endpoint; those of the other
// endpoint are only what it reported.
func (d iperf3Doc) flows(j job) ([]flow, error) {
	var flows []flow
	at := map[int]int{}
	for _, i := range d.Intervals {
		for _, r := range i.Streams {
			if r.Omitted {
				continue
			}
			n, ok := at[r.Socket]
			if !ok {
				n = len(flows)
				at[r.Socket] = n
				// Before 3.7 rows do not have the direction.
				flows = append(flows, flow{sends: j.Both() && r.Sender || !j.Both() && j.sends(), hasSegments: r.Retransmits != nil})
			}
			b, err := count(r.Bytes, "bytes")
			if err != nil {
				return nil, err
			}
			v := row{start: r.Start, seconds: r.Seconds, bytes: b}
			if r.Retransmits != nil {
				if v.retransmits, err = count(*r.Retransmits, "retransmits"); err != nil {
					return nil, err
				}
			}
			flows[n].hasSegments = flows[n].hasSegments && r.Retransmits != nil
			flows[n].rows = append(flows[n].rows, v)
			flows[n].bytes += b
		}
	}
	for _, e := range d.End.Streams {
		total := e.UDP
		if e.Sender != nil && e.Receiver != nil {
			total = e.Receiver
			if n, ok := at[e.Sender.Socket]; ok && flows[n].sends {
				total = e.Sender
			}
		}
		if total == nil {
			continue
		}
		n, ok := at[total.Socket]
		if !ok {
			return nil, fmt.Errorf("its totals have a stream %d that its intervals lack", total.Socket)
		}
		if err := flows[n].total(*total, e.UDP != nil); err != nil {
			return nil, err
		}
	}
	return flows, nil
}

// total adds the totals of a stream. For a receiver of datagrams it uses the sum of the intervals,
// because the total is 0 or what the sender sent.
func (f *flow) total(r iperf3Row, udp bool) error {
	b, err := count(r.Bytes, "bytes")
	if err != nil {
		return err
	}
	if f.sends || !udp {
		f.bytes = max(f.bytes, b)
	}
	if !math.IsNaN(r.MeanRTT) && r.MeanRTT > 0 {
		f.rtt = r.MeanRTT / 1e6
	}
	if udp && !f.sends {
		if f.reordered, err = count(r.OutOfOrder, "datagrams out of order"); err != nil {
			return err
		}
		if r.Lost != nil && math.Abs(*r.Lost) < 1<<53 {
			n := int64(*r.Lost)
			f.lost = &n
		}
	}
	return nil
}

// count checks that a number is not negative and not beyond the exact integers of a float64.
func count(v float64, of string) (int64, error) {
	if v < 0 || v > 1<<53 || math.IsNaN(v) {
		return 0, fmt.Errorf("its output has %g %s, which is impossible", v, of)
	}
	return int64(v), nil
}

// datagrams checks iperf3's count of datagrams against their bytes, which are those passed to or
// read from the kernel.
func (d iperf3Doc) datagrams(j job, flows []flow) ([]result.Note, error) {
	if got := int(d.Start.TestStart.Blksize); got != 0 && got != int(j.PayloadSize) {
		return nil, fmt.Errorf("it sent datagrams of %d bytes instead of the requested %d", got, j.PayloadSize)
	}
	notes := versionNotes(j)
	var sentBytes, saidSent, received, missing, highest float64
	for _, f := range flows {
		if f.sends {
			sentBytes += float64(f.bytes)
		} else {
			received += float64(f.bytes)
		}
	}
	for _, e := range d.End.Streams {
		if e.UDP == nil || e.UDP.Packets == nil {
			continue
		}
		if j.Both() && e.UDP.Sender || !j.Both() && j.sends() {
			saidSent += *e.UDP.Packets
			continue
		}
		highest += *e.UDP.Packets
		if e.UDP.Lost != nil {
			missing += *e.UDP.Lost
		}
	}
	if sum := d.received(j); sum != nil && sum.Bytes > received*1.001+float64(j.PayloadSize) {
		return nil, fmt.Errorf("its intervals have %.0f bytes received, but its total %.0f", received, sum.Bytes)
	}
	if sent := math.Round(sentBytes / float64(j.PayloadSize)); j.sends() && saidSent > sent {
		notes = append(notes, warning.NewNote(warning.ToolPhantomLoss,
			"iperf3 %s counts %.0f datagrams that it did not send (its bytes correspond to %.0f), so the bytes are used", j.build.version, saidSent-sent, sent))
	}
	if missing < 0 || missing > highest || highest >= math.MaxInt32 {
		notes = append(notes, lossNote(j.Tool, j.build.version, missing, highest))
		for i := range flows {
			flows[i].lost = nil
		}
	}
	return notes, nil
}

// received returns the total that this endpoint received, nil before 3.11, whose only total mixes
// both endpoints.
func (d iperf3Doc) received(j job) *iperf3Row {
	switch {
	case !j.receives():
		return nil
	case j.Both() && j.side == atClient:
		return d.End.SumReceivedReverse
	}
	return d.End.SumReceived
}

// explainIperf3 adds to an error what to do about it.
func explainIperf3(j job, said string) error {
	advice := ""
	for _, known := range []struct{ text, do string }{
		{"busy running a test", "another client connected first; make sure that nothing else uses this port"},
		{"socket buffer size not set", fmt.Sprintf("the kernel grants less than %d bytes; raise net.core.rmem_max and net.core.wmem_max, or set send_buffer and receive_buffer to auto", j.grantedBuffer)},
		{"Resource temporarily unavailable", "iperf3 lost the first datagram in one direction, which it does not repeat"},
		{"Connection refused", "no iperf3 server listens there"},
		{"TCP_CONGESTION", fmt.Sprintf("load the kernel module tcp_%s or set another congestion_control", j.Congestion)},
		{"Address already in use", "something else listens on that port"},
		{"block size invalid", fmt.Sprintf("iperf3 requires a payload of at least 16 bytes, not %d", j.PayloadSize)},
	} {
		if strings.Contains(said, known.text) {
			advice = ": " + known.do
		}
	}
	return fmt.Errorf("%.300s%s", strings.TrimPrefix(said, "error - "), advice)
}
