package observe

import "runtime"

// CountsGuests reports whether the CPU time of this machine contains that of its virtual
// machines. Linux counts it as user time, and macOS counts it with the process that runs
// the virtual machine. Under the hypervisor of Windows it is not documented.
func CountsGuests() bool { return runtime.GOOS == "linux" || runtime.GOOS == "darwin" }
