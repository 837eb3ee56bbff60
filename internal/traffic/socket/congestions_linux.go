package socket

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Congestions returns the TCP congestion controls that a socket of this process may have, and the
// one that it has by default. They are found by setting each on a socket, because a network
// namespace does not show which ones the machine allows.
func Congestions() (settable []string, standard string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, "", fmt.Errorf("create a TCP socket: %w", err)
	}
	defer unix.Close(fd)
	if standard, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil {
		return nil, "", fmt.Errorf("read the congestion control of a socket: %w", err)
	}
	settable = []string{standard}
	candidates := []string{"cubic", "reno"}
	if b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control"); err == nil {
		candidates = append(candidates, strings.Fields(string(b))...)
	}
	slices.Sort(candidates)
	for _, name := range slices.Compact(candidates) {
		if name != standard && unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) == nil {
			settable = append(settable, name)
		}
	}
	return settable, standard, nil
}
