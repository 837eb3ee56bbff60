package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/bench/harness"
)

// bulk runs a peer once and parses its output.
func (s *testbed) bulk(ctx context.Context, at cpuPlacement, d peerRun, read func(outcomes) (carried, error)) (carried, error) {
	o, err := s.peer(ctx, at, d)
	if err != nil {
		return carried{}, err
	}
	c, err := read(o)
	c.cpu = o.cpu
	return c, err
}

// iperf3Load runs iperf3 for a load.
func iperf3Load(ctx context.Context, s *testbed, at cpuPlacement, l load) (carried, error) {
	port := s.nextPort()
	p := strconv.Itoa(port)
	client := []string{"iperf3", "-c", s.target(), "-p", p, "-4", "-J", "-t", l.seconds(), "-l", strconv.Itoa(l.size),
		"-w", strconv.Itoa(l.buffer()), "-P", strconv.Itoa(l.streams)}
	if l.udp {
		client = append(client, "-u", "--udp-counters-64bit")
	} else {
		client = append(client, "-C", harness.Congestion)
	}
	if l.udp || l.rate > 0 { // 0 means no limit
		client = append(client, "-b", fmt.Sprintf("%.0f", l.rate/float64(l.streams)))
	}
	return s.bulk(ctx, at, peerRun{server: []string{"iperf3", "-s", "-1", "-p", p, "-4"}, client: client, proto: "tcp", port: port, linger: endWait}, func(o outcomes) (carried, error) { return parseIperf3(o.client) })
}

// parseIperf3 parses the output of its client with -J. Received is in bytes:
// sum_received.packets is the highest number seen, not the number received.
func parseIperf3(text string) (carried, error) {
	type sum struct {
		Bytes   float64 `json:"bytes"`
		Seconds float64 `json:"seconds"`
	}
	var out struct {
		Error string `json:"error"`
		End   struct {
			Sent     sum `json:"sum_sent"`
			Received sum `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return carried{}, fmt.Errorf("parse the output of iperf3: %w", err)
	}
	if out.Error != "" {
		return carried{}, fmt.Errorf("iperf3: %s", out.Error)
	}
	if out.End.Received.Seconds <= 0 {
		return carried{}, errors.New("parse the output of iperf3: sum_received is missing")
	}
	return carried{sent: out.End.Sent.Bytes, received: out.End.Received.Bytes, seconds: out.End.Received.Seconds}, nil
}

// unlimited is the rate that makes iperf2 send UDP as fast as possible; it has no other
// option for that.
const unlimited = 1e11

// iperf2Load runs iperf2 for a load.
func iperf2Load(ctx context.Context, s *testbed, at cpuPlacement, l load) (carried, error) {
	port := s.nextPort()
	p, size, buffer := strconv.Itoa(port), strconv.Itoa(l.size), strconv.Itoa(l.buffer())
	server := []string{"iperf", "-s", "-p", p, "-y", "C", "-w", buffer, "-l", size}
	client := []string{"iperf", "-c", s.target(), "-p", p, "-y", "C", "-w", buffer, "-l", size, "-t", l.seconds(), "-P", strconv.Itoa(l.streams)}
	proto := "tcp"
	if l.udp {
		proto = "udp"
		server, client = append(server, "-u"), append(client, "-u")
		if l.rate == 0 {
			l.rate = unlimited
		}
	} else {
		client = append(client, "-Z", harness.Congestion)
	}
	if l.rate > 0 {
		client = append(client, "-b", fmt.Sprintf("%.0f", l.rate/float64(l.streams)))
	}
	// Its server ends with the first connection if it is set to serve one client, so it
	// is terminated instead.
	return s.bulk(ctx, at, peerRun{server: server, client: client, proto: proto, port: port, linger: 150 * time.Millisecond}, func(o outcomes) (carried, error) { return parseIperf2(o.server, l) })
}

// classicIperf2 are the columns of lines without a header. Of TCP there are the first nine.
const classicIperf2 = "time,srcaddress,srcport,dstaddr,dstport,transferid,interval,bytes,speed,jitter,errors,datagrams,errpercent,outoforder"

// parseIperf2 parses the output of its server with -y C, one line for each connection. Since
// 2.2 a line can have columns that a header names. Some versions print the sum of the
// connections in an additional line with the id -1. The window is that of the longest
// connection, computed from bytes and rate (bit/s), because the interval has few decimals.
func parseIperf2(text string, l load) (carried, error) {
	var c carried
	var header []string
	found := 0
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if f[0] == "time" {
			header = f
			continue
		}
		columns := header
		if len(f) != len(header) {
			columns = strings.Split(classicIperf2, ",")
		}
		value := func(column string) (string, bool) {
			i := slices.Index(columns, column)
			if i < 0 || i >= len(f) {
				return "", false
			}
			return f[i], true
		}
		id, ok := value("transferid")
		rate, hasRate := value("speed")
		if !ok || !hasRate || id == "-1" {
			continue
		}
		size, _ := value("bytes")
		bytes, err1 := strconv.ParseFloat(size, 64)
		bits, err2 := strconv.ParseFloat(rate, 64)
		if err := errors.Join(err1, err2); err != nil {
			return carried{}, fmt.Errorf("parse the output of iperf2: %w", err)
		}
		if bits <= 0 {
			continue
		}
		found++
		c.received += bytes
		c.seconds = max(c.seconds, bytes*8/bits)
		if errs, ok := value("errors"); l.udp && ok {
			lost, err := strconv.ParseFloat(errs, 64)
			if err != nil {
				return carried{}, fmt.Errorf("parse the output of iperf2: %w", err)
			}
			c.sent += bytes + max(0, lost)*float64(l.size)
		}
	}
	if found != l.streams {
		return carried{}, fmt.Errorf("parse the output of iperf2: found %d of %d connections: %q", found, l.streams, text)
	}
	return c, nil
}

// nuttcpLoad runs nuttcp for a UDP load.
func nuttcpLoad(ctx context.Context, s *testbed, at cpuPlacement, l load) (carried, error) {
	port := s.nextPort()
	control, data := strconv.Itoa(port), strconv.Itoa(port+1)
	rate := "-Ru"
	if l.rate > 0 {
		rate = fmt.Sprintf("-R%.0f", l.rate/1000) // kbit/s
	}
	buffer := strconv.Itoa(l.buffer() >> 10) // KiB
	return s.bulk(ctx, at, peerRun{
		server: []string{"nuttcp", "-S", "-1", "--nofork", "-4", "-P", control},
		client: []string{"nuttcp", "-u", "-4", "-P", control, "-p", data, "-l" + strconv.Itoa(l.size), "-w" + buffer, "-ws" + buffer,
			"-T" + l.seconds(), rate, "-fparse", s.target()},
		proto: "tcp", port: port, linger: endWait,
	}, func(o outcomes) (carried, error) { return parseNuttcp(o.client, l) })
}

// parseNuttcp parses the output of its client with -fparse: pairs of name=value. pkt is
// the number of datagrams sent, drop the number that did not arrive, and a megabyte of
// received data is 2^20 bytes.
func parseNuttcp(text string, l load) (carried, error) {
	v, err := pairsOf(text, "megabytes", "real_seconds", "pkt")
	if err != nil {
		return carried{}, fmt.Errorf("parse the output of nuttcp: %w", err)
	}
	return carried{sent: v["pkt"] * float64(l.size), received: v["megabytes"] * (1 << 20), seconds: v["real_seconds"]}, nil
}

// pairsOf parses numbers from name=value words; those in need are required.
func pairsOf(text string, need ...string) (map[string]float64, error) {
	v := map[string]float64{}
	for _, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			continue
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			v[name] = n
		}
	}
	for _, name := range need {
		if _, ok := v[name]; !ok {
			return nil, fmt.Errorf("no %s in %q", name, text)
		}
	}
	return v, nil
}
