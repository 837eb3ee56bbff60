package tool

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"strconv"

	"tare/internal/study"
)

// ntttcp is Microsoft's tool: ntttcp-for-linux on Linux, NTttcp on Windows. They share the name and
// most of the output format, but little of the command line.
func ntttcp() Tool {
	t := Tool{
		Name: ntttcpName, Kinds: []string{tcpStream, udpStream}, Directions: []string{study.Forward},
		executable: "ntttcp", install: "build github.com/microsoft/ntttcp-for-linux and put it on the PATH",
		probeFlags: probeFlags{"-h", "-h"}, probe: probeNtttcp, writesFile: true, command: ntttcpCommand, read: readNtttcp,
	}
	if runtime.GOOS == "windows" {
		t.executable, t.install = "ntttcp.exe", "download it from github.com/microsoft/ntttcp and put it on the PATH"
		t.probeFlags, t.command = probeFlags{"-?", "-?"}, windowsCommand
	}
	return t
}

// probeNtttcp reads the version from the banner; in the XML of the Linux tool it is a constant.
func probeNtttcp(banner, help string) (build, error) {
	b := build{help: help}
	m := regexp.MustCompile(`(?m)^(?:NTTTCP for Linux|Version|Copyright.*Version) (\d+)\.(\d+)([\w.+~-]*)`).FindStringSubmatch(banner)
	if m == nil {
		return b, fmt.Errorf("%.60q is not a version of ntttcp", banner)
	}
	b.major, _ = strconv.Atoi(m[1]) // digits
	b.minor, _ = strconv.Atoi(m[2])
	b.version = m[1] + "." + m[2] + m[3]
	return b, nil
}

// ntttcpCooldown is how long the sender continues while the receiver ends its window, in seconds.
const ntttcpCooldown = 1

// wholeSeconds rounds up to the whole seconds that ntttcp takes.
func wholeSeconds(seconds float64) string { return strconv.Itoa(int(math.Ceil(seconds - 1e-9))) }

func (j job) window() (warmup, duration string) {
	return wholeSeconds(j.Warmup.Seconds()), wholeSeconds(j.Duration.Seconds())
}

// checkNtttcp returns an error for what neither ntttcp supports.
func checkNtttcp(j job) error {
	if j.host == "" {
		return errors.New("ntttcp requires a specific address to listen on")
	}
	if j.port < 2 {
		return errors.New("ntttcp also requires the port below its own")
	}
	return nil
}

func ntttcpCommand(j job) ([]string, error) {
	if err := checkNtttcp(j); err != nil {
		return nil, err
	}
	if j.udp() && j.ipv6 {
		return nil, errors.New("ntttcp supports UDP over IPv4 only")
	}
	role := "-s"
	if j.side == atServer {
		role = "-r"
	}
	warmup, duration := j.window()
	args := []string{role + j.host, "-P", "1", "-p", strconv.Itoa(int(j.port)), "-W", warmup, "-t", duration,
		"-C", strconv.Itoa(ntttcpCooldown), "-x", j.file.path}
	if j.ipv6 {
		args = append(args, "-6")
	}
	size := j.WriteSize
	if j.udp() {
		args = append(args, "-u")
		size = j.PayloadSize
	}
	if size > 0 {
		args = append(args, "-b", strconv.Itoa(int(size)))
	}
	if j.side == atServer {
		return args, nil
	}
	args = append(args, "-n", strconv.Itoa(j.Streams), "-l", "1")
	if asked := j.requestedRate(); asked > 0 {
		args = append(args, "-B", strconv.FormatUint(uint64(asked), 10))
	}
	if j.DisablesNagle() && !j.udp() && j.build.has("--no-delay") {
		args = append(args, "--no-delay")
	}
	return args, nil
}

// windowsCommand returns the command line of NTttcp for Windows, which needs the IP version, the
// number of threads and the output file.
func windowsCommand(j job) ([]string, error) {
	if err := checkNtttcp(j); err != nil {
		return nil, err
	}
	role := "-s"
	if j.side == atServer {
		role = "-r"
	}
	warmup, duration := j.window()
	args := []string{role, "-m", fmt.Sprintf("%d,*,%s", j.Streams, j.host), "-p", strconv.Itoa(int(j.port)),
		"-wu", warmup, "-t", duration, "-cd", strconv.Itoa(ntttcpCooldown), "-xml", j.file.path}
	if j.ipv6 {
		args = append(args, "-6")
	}
	size := j.WriteSize
	if j.udp() {
		args = append(args, "-u")
		size = j.PayloadSize
	} else if j.DisablesNagle() {
		args = append(args, "-ndl")
	}
	if size > 0 {
		args = append(args, "-l", strconv.Itoa(int(size))) // its default for UDP is 128 bytes
	}
	if n := j.SendBuffer.Socket(); n > 0 {
		args = append(args, "-sb", strconv.Itoa(n))
	}
	if n := j.ReceiveBuffer.Socket(); n > 0 {
		args = append(args, "-rb", strconv.Itoa(n))
	}
	if asked := j.requestedRate(); asked > 0 && j.side == atClient {
		perThread := asked / 8 / 1024 / float64(j.Streams) // KB/s
		if perThread < 1 {
			return nil, fmt.Errorf("NTttcp paces in KB/s: %g bit/s for %d threads is less than 1 KB/s", asked, j.Streams)
		}
		args = append(args, "-thr", strconv.Itoa(int(math.Round(perThread))))
	}
	return args, nil
}
