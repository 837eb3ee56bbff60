package facts

import "tare/internal/linuxnet"

// asker answers what is in no file: the kernel is asked, and nothing is changed.
type asker interface {
	// Offloads are those of a device: tso, gso, gro, tx-checksum.
	Offloads(device string) (map[string]bool, error)
	// Filters are the packet filters of this process's network stack.
	Filters() ([]linuxnet.Filter, error)
}

// kernel asks the kernel that this process runs on.
type kernel struct{}

func (kernel) Offloads(device string) (map[string]bool, error) { return linuxnet.HereOffloads(device) }
func (kernel) Filters() ([]linuxnet.Filter, error)             { return linuxnet.HereFilters() }
