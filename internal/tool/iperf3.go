package tool

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"tare/internal/study"
	"tare/internal/timelimit"
)

const (
	iperf3Name = "iperf3"
	iperf2Name = "iperf2"
	ntttcpName = "ntttcp"
)

// allDirections lists all directions.
func allDirections() []string { return []string{study.Forward, study.Reverse, study.Both} }

func iperf3() Tool {
	return Tool{
		Name: iperf3Name, Kinds: []string{tcpStream, udpStream}, Directions: allDirections(),
		executable: "iperf3", install: "apt install iperf3", probeFlags: probeFlags{"--version", "--help"},
		probe: probeIperf3, command: iperf3Command, read: readIperf3,
	}
}

// oldestIperf3 is the first 3.x with all required values in its JSON.
const oldestIperf3 = 1

func probeIperf3(banner, help string) (build, error) {
	m := regexp.MustCompile(`(?m)^iperf (3)\.(\d+)([\w.+~-]*)`).FindStringSubmatch(banner)
	if m == nil {
		return build{}, fmt.Errorf("%.60q is not a version of iperf3", banner)
	}
	b := build{major: 3, help: help}
	b.minor, _ = strconv.Atoi(m[2]) // digits; a number beyond int is newer than all
	b.version = "3." + m[2] + m[3]
	if b.before(3, oldestIperf3) {
		return b, fmt.Errorf("version %s is too old; iperf3 3.%d or later is required", b.version, oldestIperf3)
	}
	return b, nil
}

// maxRows bounds the total number of intervals of all streams, so that the output stays below
// maxOutput: iperf3 writes about 300 bytes for each.
const maxRows = 8000

// interval returns the tool's reporting interval: 100 ms, or more if that would be too many rows.
func (j job) interval() float64 {
	rows := j.sendSeconds() * float64(j.directionCount()*j.Streams)
	for _, i := range []float64{0.1, 0.2, 0.5, 1, 2, 5} {
		if rows/i <= maxRows {
			return i
		}
	}
	return 10
}

func (j job) directionCount() int {
	if j.Both() {
		return 2
	}
	return 1
}

// sendSeconds returns how long the tool sends, in seconds.
func (j job) sendSeconds() float64 { return (j.Warmup + j.Duration).Seconds() }

func (j job) family() string {
	if j.ipv6 {
		return "-6"
	}
	return "-4"
}

// perStream returns the rate of one stream in bit/s, because tools take the rate per stream. 0 is
// unlimited.
func (j job) perStream() (uint64, error) {
	rate := j.requestedRate()
	if rate == 0 {
		return 0, nil
	}
	each := uint64(math.Round(rate / float64(j.Streams)))
	if each == 0 {
		return 0, fmt.Errorf("less than 1 bit/s remains for each of %d streams", j.Streams)
	}
	return each, nil
}

// requestedRate returns the requested payload rate in each direction in bit/s; 0 is unlimited.
func (j job) requestedRate() float64 {
	if j.PacketRate > 0 {
		return float64(j.PacketRate) * float64(j.PayloadSize) * 8
	}
	return float64(j.Rate)
}

// serverTimeout returns how long a server waits for its client before it exits, if nothing else
// ends it.
func (j job) serverTimeout() time.Duration {
	if j.Limit > 0 {
		return j.Limit
	}
	return j.Warmup + j.Duration + timelimit.Scaled(20*time.Second)
}

// iperf3Command returns the command line. iperf3 takes whole seconds: it runs up to the next one,
// and the window is cut out of the intervals.
func iperf3Command(j job) ([]string, error) {
	common := []string{"-J", "-i", number(j.interval()), "-p", strconv.Itoa(int(j.port)), j.family()}
	if j.side == atServer {
		args := append([]string{"-s", "-1"}, common...)
		if j.host != "" {
			args = append(args, "-B", j.host)
		}
		if j.build.has("--idle-timeout") {
			args = append(args, "--idle-timeout", strconv.Itoa(int(math.Ceil(j.serverTimeout().Seconds()))))
		}
		return args, nil
	}
	if j.host == "" {
		return nil, errors.New("there is no address to dial")
	}
	args := append([]string{"-c", j.host}, common...)
	args = append(args, "-t", strconv.Itoa(max(1, int(math.Ceil(j.sendSeconds()-1e-9)))), "-P", strconv.Itoa(j.Streams))
	rate, err := j.perStream()
	if err != nil {
		return nil, err
	}
	if j.udp() {
		args = append(args, "-u", "-l", strconv.Itoa(int(j.PayloadSize)), "-b", strconv.FormatUint(rate, 10))
		for _, option := range []string{"--udp-counters-64bit", "--dont-fragment"} {
			if option == "--dont-fragment" && (j.Fragment == study.On || j.ipv6) || !j.build.has(option) {
				continue
			}
			args = append(args, option)
		}
	} else {
		args = append(args, j.tcpOptions("-C")...)
		if rate > 0 {
			args = append(args, "-b", strconv.FormatUint(rate, 10))
		}
	}
	switch {
	case j.Both() && !j.build.has("--bidir"):
		return nil, fmt.Errorf("iperf3 %s cannot send in both directions at once; 3.7 or later is required", j.build.version)
	case j.Both():
		args = append(args, "--bidir")
	case j.Reverse():
		args = append(args, "-R")
	}
	if j.grantedBuffer > 0 {
		args = append(args, "-w", strconv.Itoa(j.grantedBuffer))
	}
	if j.build.has("--connect-timeout") {
		args = append(args, "--connect-timeout", "3000")
	}
	return args, nil
}

// tcpOptions returns the options that both iperfs have in common, except the congestion control.
func (j job) tcpOptions(congestion string) []string {
	var args []string
	if j.WriteSize > 0 {
		args = append(args, "-l", strconv.Itoa(int(j.WriteSize)))
	}
	if j.Congestion != "" {
		args = append(args, congestion, j.Congestion)
	}
	if j.DisablesNagle() {
		args = append(args, "-N")
	}
	return args
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
