package traffic

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// What a socket does not take, and what it has nothing of, counts as nothing: a
// byte less for each such call once made more arrive than was sent.
func TestStreamThatWouldWait(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	from, to := fastStream(fds[0]), fastStream(fds[1])
	defer from.close()
	defer to.close()
	buf := make([]byte, 64<<10)
	if n, err := to.read(buf); n != 0 || !errors.Is(err, errAgain) {
		t.Errorf("an empty socket gave %d bytes and %v", n, err)
	}
	sent := 0
	for {
		n, err := from.write(buf)
		if n < 0 {
			t.Fatalf("%d bytes were written (%v)", n, err)
		}
		sent += n
		if errors.Is(err, errAgain) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	received := 0
	for {
		n, err := to.read(buf)
		received += n
		if errors.Is(err, errAgain) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if sent == 0 || sent != received {
		t.Errorf("%d bytes sent, %d received", sent, received)
	}
}
