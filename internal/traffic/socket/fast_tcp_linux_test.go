package socket

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// A call on a full or empty socket counts 0 bytes. Counting -1 for each once made more bytes arrive
// than were sent.
func TestFullAndEmptySocket(t *testing.T) {
	fds := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))(t)
	from, to := FastStream(fds[0]), FastStream(fds[1])
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	n, err := to.Read(buf)
	must.True(t, n == 0 && errors.Is(err, ErrAgain), "an empty socket gave %d bytes and %v", n, err)
	sent := 0
	for {
		n, err := from.Write(buf)
		must.Require(t, n >= 0, "%d bytes were written (%v)", n, err)
		sent += n
		if errors.Is(err, ErrAgain) {
			break
		}
		must.Do(t, err)
	}
	received := 0
	for {
		n, err := to.Read(buf)
		received += n
		if errors.Is(err, ErrAgain) {
			break
		}
		must.Do(t, err)
	}
	must.True(t, sent != 0 && sent == received, "%d bytes sent, %d received", sent, received)
}
