package tool

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

func iperf2() Tool {
	return Tool{
		Name: iperf2Name, Kinds: []string{tcpStream, udpStream}, Directions: allDirections(),
		executable: "iperf", install: "apt install iperf", probeFlags: probeFlags{"-v", "-h"},
		probe: probeIperf2, command: iperf2Command, read: readIperf2,
	}
}

// oldestIperf2 is the oldest supported minor version of iperf 2: -R and --full-duplex came with 2.1.
const oldestIperf2 = 1

func probeIperf2(banner, help string) (build, error) {
	m := regexp.MustCompile(`(?m)^iperf (?:version )?(\d+)\.(\d+)(?:\.([\w.+~-]+))?`).FindStringSubmatch(banner)
	if m == nil {
		return build{}, fmt.Errorf("%.60q is not a version of iperf2", banner)
	}
	b := build{help: help, version: m[1] + "." + m[2]}
	b.major, _ = strconv.Atoi(m[1]) // digits
	b.minor, _ = strconv.Atoi(m[2])
	if m[3] != "" {
		b.version += "." + m[3]
	}
	if b.major != 2 {
		return b, fmt.Errorf("version %s is not iperf2; set the tool to iperf3", b.version)
	}
	if b.before(2, oldestIperf2) {
		return b, fmt.Errorf("version %s is too old; iperf 2.%d or later is required", b.version, oldestIperf2)
	}
	return b, nil
}

// unlimitedUDPRate is the -b of a UDP flow without a rate: -b 0 ends with an error, and without -b
// the rate is 1 Mbit/s.
const unlimitedUDPRate = "1000g"

// iperf2Command returns the command line. It avoids suffixes: k is 1000 and K is 1024.
func iperf2Command(j job) ([]string, error) {
	args := []string{"-e", "-y", "C", "-i", number(j.interval()), "-p", strconv.Itoa(int(j.port)), "-P", strconv.Itoa(j.Streams)}
	if j.ipv6 {
		args = append(args, "-V")
	}
	if j.grantedBuffer > 0 {
		args = append(args, "-w", strconv.Itoa(j.grantedBuffer))
	}
	switch {
	case j.udp():
		// The server as well: it would truncate a datagram longer than its buffer.
		args = append(args, "-u", "-l", strconv.Itoa(int(j.PayloadSize)))
	case j.sends(): // a client that only receives must not have -Z
		args = append(args, j.tcpOptions("-Z")...)
	}
	if j.side == atServer {
		if j.host != "" {
			args = append(args, "-B", j.host)
		}
		return append([]string{"-s"}, args...), nil
	}
	if j.host == "" {
		return nil, errors.New("there is no address to dial")
	}
	rate, err := j.perStream()
	switch {
	case err != nil:
		return nil, err
	case rate > 0:
		args = append(args, "-b", strconv.FormatUint(rate, 10))
	case j.udp():
		args = append(args, "-b", unlimitedUDPRate)
	}
	switch {
	case j.Both():
		args = append(args, "--full-duplex")
	case j.Reverse():
		args = append(args, "-R")
	}
	return append([]string{"-c", j.host, "-t", number(j.sendSeconds())}, args...), nil
}
