package tool

import (
	"fmt"
	"regexp"
	"strconv"

	"tare/internal/study"
)

const wrkName = "wrk"

// wrk is a client of HTTP/1.1. Before its requests it tries whether it can connect.
func wrk() Tool {
	return Tool{
		Name: wrkName, Kinds: []string{http1Kind}, Directions: []string{study.Forward},
		executable: "wrk", install: "apt install wrk", probeFlags: probeFlags{"-v", "-v"},
		probe: probeWrk, command: wrkCommand, read: readWrk, asks: true, probes: 1,
	}
}

// oldestWrk is the oldest supported major version of wrk.
const oldestWrk = 4

// probeWrk reads the version from the banner, in which Debian has the name of its package.
func probeWrk(banner, help string) (build, error) {
	m := regexp.MustCompile(`(?m)^wrk (?:debian/)?v?(\d+)\.(\d+)([\w.+~-]*) \[`).FindStringSubmatch(banner)
	if m == nil {
		return build{}, fmt.Errorf("%.60q is not a version of wrk", banner)
	}
	b := build{help: help, version: m[1] + "." + m[2] + m[3]}
	b.major, _ = strconv.Atoi(m[1]) // digits
	b.minor, _ = strconv.Atoi(m[2])
	if b.before(oldestWrk, 0) {
		return b, fmt.Errorf("version %s is too old; wrk %d or later is required", b.version, oldestWrk)
	}
	return b, nil
}

// wrkTimeout is the response time above which wrk counts a response as late, in seconds: that above which the built-in generator
// gives a request up. It takes 8 bytes of memory for each microsecond.
const wrkTimeout = 5

// wrkCommand returns the command line: one thread for all connections, as the built-in generator has.
func wrkCommand(j job) ([]string, error) {
	connections, _ := j.connections()
	return []string{
		"-t", "1", "-c", strconv.Itoa(connections), "-d", wholeSeconds(j.Duration.Seconds()) + "s", "--timeout", strconv.Itoa(wrkTimeout) + "s",
		"-H", j.tag(), j.url(),
	}, nil
}
