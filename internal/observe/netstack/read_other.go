//go:build !windows

package netstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Read reads the network stack of the calling thread. proc is where procfs is mounted,
// normally /proc. Without procfs the reading has only a gap.
func Read(proc string) Reading {
	var r Reading
	if _, err := os.Stat(filepath.Join(proc, "thread-self")); err != nil {
		if _, err := os.Stat(filepath.Join(proc, "stat")); err != nil {
			r.AddGap("counters", fmt.Errorf("procfs is not available: %w", err))
			return r
		}
	}
	r.Boot = Boot(proc)
	if ns, err := os.Readlink(filepath.Join(proc, "thread-self/ns/net")); err == nil {
		r.NS = strings.Trim(strings.TrimPrefix(ns, "net:"), "[]")
	}
	for _, s := range sources() {
		text, err := os.ReadFile(filepath.Join(proc, "thread-self/net", s.file))
		if errors.Is(err, os.ErrNotExist) && s.optional {
			continue // not built or not loaded, so it cannot drop anything
		}
		if err == nil {
			err = s.parse(&r, text)
		}
		r.AddGap("/proc/net/"+s.file, err)
	}
	return r
}

// ReadProtocols reads the counters of IP, ICMP, TCP and UDP of the network stack of the calling
// thread. Those of IPv6 are absent if the kernel has none.
func ReadProtocols(proc string) (Reading, error) {
	var r Reading
	for _, s := range sources() {
		if s.file != "snmp" && s.file != "snmp6" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(proc, "thread-self/net", s.file))
		if errors.Is(err, os.ErrNotExist) && s.optional {
			continue
		}
		if err == nil {
			err = s.parse(&r, text)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}
