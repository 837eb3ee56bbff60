package facts

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// capabilities reports whether CAP_NET_ADMIN and CAP_SYS_ADMIN are effective.
func capabilities() (netAdmin, sysAdmin Answer) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // pid 0: the caller
	var data [2]unix.CapUserData                                           // version 3 fills two words
	if err := unix.Capget(&header, &data[0]); err != nil {
		a := maybe(fmt.Errorf("read capabilities: %w", err))
		return a, a
	}
	held := func(capability int) Answer {
		return answer(data[capability/32].Effective&(1<<(capability%32)) != 0)
	}
	return held(unix.CAP_NET_ADMIN), held(unix.CAP_SYS_ADMIN)
}
