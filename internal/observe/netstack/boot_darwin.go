package netstack

import "golang.org/x/sys/unix"

// Boot returns the id of the kernel's current start, or "" if it is unknown. The argument is for systems
// with procfs.
func Boot(string) string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
