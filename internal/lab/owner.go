package lab

import (
	"os"

	"tare/internal/linuxnet"
	"tare/internal/runid"
)

// overflowUser is the user that the kernel shows in a user namespace for all users that are not mapped
// there, unless kernel.overflowuid was changed (user_namespaces(7)).
const overflowUser = 65534

// Foreign reports whether what a user has cannot be removed by this process, because it belongs to
// another user: only that user and the machine's root can. The root of a user namespace is no other
// user than the one who created it.
func Foreign(owner int) bool {
	switch user := os.Geteuid(); {
	case owner == runid.UnknownUser || user < 0: // systems without users' numbers have no leftovers
		return false
	case user > 0:
		return owner != user
	}
	return owner == overflowUser && !linuxnet.RealRoot()
}

// machineRoot is the machine's root as this process sees it.
func machineRoot() int {
	if os.Geteuid() == 0 && !linuxnet.RealRoot() {
		return overflowUser
	}
	return 0
}
