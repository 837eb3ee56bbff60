package calibration

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/testneed"
)

// Measuring leaves neither a file nor a CPU that the process is bound to.
func TestLeavesNothing(t *testing.T) {
	state := func() (affinity unix.CPUSet, next int) {
		if err := unix.SchedGetaffinity(0, &affinity); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		return affinity, fd // the lowest number that is free
	}
	measure(0) // opens what the runtime keeps open
	before, lowest := state()
	for range 5 {
		measure(0)
	}
	after, now := state()
	if before != after || lowest != now {
		t.Errorf("CPUs %v, then %v; the first free file is %d, then %d", before, after, lowest, now)
	}
}

// A packet's cost is known where a namespace can be created, and says what is missing elsewhere.
func TestPacketNeedsNamespace(t *testing.T) {
	testneed.NotShort(t)
	fact := packetFact(-1, time.Millisecond)
	ns, err := linuxnet.NewNS("test", false)
	if err == nil {
		ns.Close()
	}
	if unknown := strings.HasPrefix(fact.Value, "unknown: create network namespace"); unknown != (err != nil) {
		t.Errorf("it is %s, and a namespace: %v", fact.Value, err)
	}
}

// A thread that does not answer is an error, not a wait without end.
func TestSilentThread(t *testing.T) {
	ping, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ping.closeBoth()
	pong, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pong.closeBoth()
	pong.closeWriter()
	if err := exchange(ping, pong, 1); err == nil {
		t.Error("something answered")
	}
}
