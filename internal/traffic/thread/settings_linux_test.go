package thread

import (
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func policy(t *testing.T, tid int) uint32 {
	t.Helper()
	a := must.Get(unix.SchedGetAttr(tid, 0))(t)
	return a.Policy
}

// The threads of Run have the priority, and a process that one starts does not.
func TestRunFIFO(t *testing.T) {
	s := Settings{CPU: -1, FIFO: true}
	if err := s.Check(); err != nil {
		testneed.Missing(t, testneed.Root, err)
	}
	err := s.Run(2, func(int) error {
		a, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			return err
		}
		must.True(t, a.Policy == unix.SCHED_FIFO && a.Priority == fifoPriority && a.Flags&unix.SCHED_FLAG_RESET_ON_FORK != 0,
			"policy %d, priority %d, flags %#x", a.Policy, a.Priority, a.Flags)
		return nil
	})
	must.True(t, err == nil, "%v", err)
	must.EqualFor(t, "the test's own thread has policy", uint32(unix.SCHED_NORMAL), policy(t, 0))
}

// Without the right to do so, the error names it, and no function runs.
func TestRunFIFONotAllowed(t *testing.T) {
	var none unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &none); err != nil || none.Cur != 0 {
		testneed.Missing(t, testneed.Other, "RLIMIT_RTPRIO allows it without the capability")
	}
	err := Run(1, -1, func(int) error { // a thread without capabilities, which ends here
		header, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
		if err := unix.Capset(&header, &data[0]); err != nil {
			return err
		}
		return setFIFO()
	})
	must.Fail(t, err, "scheduling fifo: operation not permitted: it requires CAP_SYS_NICE")
}

func TestCheck(t *testing.T) {
	must.Do(t, (Settings{CPU: -1, Spin: true}).Check())
	must.FailFor(t, "a spinning real-time thread is accepted", (Settings{CPU: -1, Spin: true, FIFO: true}).Check())
}
