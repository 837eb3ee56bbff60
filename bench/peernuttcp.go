package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// nuttcpLoad runs nuttcp for a UDP load.
func nuttcpLoad(ctx context.Context, s *stand, at placed, l load) (carried, error) {
	port := s.nextPort()
	control, data := strconv.Itoa(port), strconv.Itoa(port+1)
	rate := "-Ru"
	if l.rate > 0 {
		rate = fmt.Sprintf("-R%.0f", l.rate/1000) // kbit/s
	}
	buffer := strconv.Itoa(l.buffer() >> 10) // KiB
	o, err := s.peer(ctx, at, duel{
		server: []string{"nuttcp", "-S", "-1", "--nofork", "-4", "-P", control},
		client: []string{"nuttcp", "-u", "-4", "-P", control, "-p", data, "-l" + strconv.Itoa(l.size), "-w" + buffer, "-ws" + buffer,
			"-T" + l.seconds(), rate, "-fparse", s.target()},
		proto: "tcp", port: port, linger: endWait,
	})
	if err != nil {
		return carried{}, err
	}
	c, err := parseNuttcp(o.client, l)
	c.cpu = o.cpu
	return c, err
}

// parseNuttcp reads what its client prints with -fparse: pairs of name=value.
// pkt counts what was sent, drop what of it did not arrive, and a megabyte of
// what arrived is 2^20 bytes.
func parseNuttcp(text string, l load) (carried, error) {
	v, err := pairsOf(text, "megabytes", "real_seconds", "pkt")
	if err != nil {
		return carried{}, fmt.Errorf("read the figures of nuttcp: %w", err)
	}
	return carried{sent: v["pkt"] * float64(l.size), received: v["megabytes"] * (1 << 20), seconds: v["real_seconds"]}, nil
}

// pairsOf reads numbers from name=value words and insists on some.
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
			return nil, fmt.Errorf("there is no %s in %q", name, text)
		}
	}
	return v, nil
}
