package runid

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A run is alive while an abstract Unix socket is named after its id. Every user sees it in
// /proc/net/unix, no file can become stale, nothing can connect to it, and the kernel
// closes it when the process dies.
const socketPrefix = "@tare-run/"

func hold(id string) (release func(), err error) { return Bind(socketPrefix + id) }

// Bind binds an abstract Unix socket whose name begins with @, until release is called or
// this process dies. It returns EADDRINUSE if a process already has the name.
func Bind(name string) (release func(), err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		if err = unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err == nil {
			return func() { unix.Close(fd) }, nil
		}
		unix.Close(fd)
	}
	return nil, fmt.Errorf("claim %s: %w", name, err)
}

// Running lists the ids of the runs that are alive on this machine, including those of this
// process.
func Running() ([]string, error) {
	data, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("list running runs: %w", err)
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if id, ok := strings.CutPrefix(fields[len(fields)-1], socketPrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
