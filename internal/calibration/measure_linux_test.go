package calibration

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// Measuring leaves neither a file nor a CPU that the process is bound to.
func TestLeavesNothing(t *testing.T) {
	state := func() (affinity unix.CPUSet, next int) {
		must.Do(t, unix.SchedGetaffinity(0, &affinity))
		fd := must.Get(unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0))(t)
		defer unix.Close(fd)
		return affinity, fd // the lowest number that is free
	}
	measure(0) // opens what the runtime keeps open
	before, lowest := state()
	for range 5 {
		measure(0)
	}
	after, now := state()
	must.True(t, before == after && lowest == now, "CPUs %v, then %v; the first free file is %d, then %d", before, after, lowest, now)
}

// A packet's cost is known where a namespace can be created, and says what is missing elsewhere.
func TestPacketNeedsNamespace(t *testing.T) {
	testneed.NotShort(t)
	fact := packetFact(-1, time.Millisecond)
	ns, err := linuxnet.NewNS("test")
	if err == nil {
		ns.Close()
	}
	if unknown := strings.HasPrefix(fact.Value, "unknown: create network namespace"); unknown != (err != nil) {
		t.Errorf("it is %s, and a namespace: %v", fact.Value, err)
	}
}

// A thread that does not answer is an error, not a wait without end.
func TestSilentThread(t *testing.T) {
	ping := must.Get(newPipe())(t)
	defer ping.closeBoth()
	pong := must.Get(newPipe())(t)
	defer pong.closeBoth()
	pong.closeWriter()
	must.FailFor(t, "something answered", exchange(ping, pong, 1))
}
