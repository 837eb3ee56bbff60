package runid

import (
	"crypto/rand"
	"fmt"

	"golang.org/x/sys/unix"
)

// A run is alive while an abstract Unix socket is named after its id. Every user sees it and
// who has it, no file can become stale, nothing can connect to it, and the kernel closes it
// when the process dies.
const socketPrefix = "@tare-run/"

func hold(id string) (release func(), err error) { return Bind(socketPrefix + id) }

// Hold marks a run that another process has created as alive for this process's user, until
// release is called or this process dies. Several processes may do so.
func Hold(id string) (release func(), err error) { return Bind(socketPrefix + id + "/" + rand.Text()) }

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

// List returns the claims of the runs that are alive on this machine, including those of this process: in this
// network namespace, and in others as far as their processes are visible.
func List() (Claims, error) {
	sockets, err := Bound(socketPrefix)
	if err != nil {
		return nil, fmt.Errorf("list running runs: %w", err)
	}
	var all Claims
	for _, s := range sockets {
		if id, is := claimed(s.Name); is {
			all = append(all, Claim{id, s.User})
		}
	}
	return append(all, elsewhere()...), nil
}
