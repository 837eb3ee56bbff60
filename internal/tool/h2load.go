package tool

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"tare/internal/study"
)

const h2loadName = "h2load"

// h2load is nghttp2's client of HTTP/2, in the clear with prior knowledge, and of HTTP/1.1.
func h2load() Tool {
	return Tool{
		Name: h2loadName, Kinds: []string{http1Kind, http2Kind}, Directions: []string{study.Forward},
		executable: "h2load", install: "apt install nghttp2-client", probeFlags: probeFlags{"--version", "--help"},
		probe: probeH2load, command: h2loadCommand, read: readH2load, asks: true,
	}
}

// warmUpOption is the option without which h2load has no timed window.
const warmUpOption = "--warm-up-time"

func probeH2load(banner, help string) (build, error) {
	m := regexp.MustCompile(`(?m)^h2load nghttp2/(\d+)\.(\d+)([\w.+~-]*)`).FindStringSubmatch(banner)
	if m == nil {
		return build{}, fmt.Errorf("%.60q is not a version of h2load", banner)
	}
	b := build{help: help, version: m[1] + "." + m[2] + m[3]}
	b.major, _ = strconv.Atoi(m[1]) // digits
	b.minor, _ = strconv.Atoi(m[2])
	if !b.has(warmUpOption) {
		return b, fmt.Errorf("version %s is too old: it has no option %s", b.version, warmUpOption)
	}
	return b, nil
}

// h2loadCommand returns the command line: one thread for all connections. A request of HTTP/1.1 waits for the response to the one before.
func h2loadCommand(j job) ([]string, error) {
	connections, together := j.connections()
	args := []string{"-t", "1", "-c", strconv.Itoa(connections), "-m", strconv.Itoa(together), "-D", milliseconds(j.Duration)}
	if j.Warmup > 0 {
		args = append(args, warmUpOption, milliseconds(j.Warmup))
	}
	if j.Kind == http1Kind {
		args = append(args, "--h1")
	}
	return append(args, "-H", j.tag(), j.url()), nil
}

// milliseconds writes a time as h2load reads it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }
