package socket

import (
	"os"
	"regexp"
)

// WaitsInAccept reports whether accept on a blocking socket ends with the socket's timeout, as
// accept(2) says. The kernel of gVisor waits until there is a connection.
func WaitsInAccept() bool {
	version, err := os.ReadFile("/proc/version")
	return err != nil || !isSentry(string(version))
}

// isSentry reports whether /proc/version is that of gVisor: until 2025 with the version of a Linux
// kernel and a date of its own.
func isSentry(version string) bool {
	return regexp.MustCompile(`-gvisor |Sun Jan 10 15:06:54 PST 2016`).MatchString(version)
}
