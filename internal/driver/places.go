package driver

import (
	"context"

	"tare/internal/observe/netstack"
)

// Placed is a Path that says which network stacks it leads through. It is optional:
// where a path has none, nothing is known of where its datagrams die.
type Placed interface {
	// Places lists every network stack of the path once: those of the ends, whose
	// names are in Endpoint.Place, and those between them. Reading one takes
	// milliseconds and is not for while traffic is timed.
	Places() []Place
}

// Discarder is a Path on which a process takes in copies of what arrives, and the kernel
// is told to drop the originals. It is optional.
type Discarder interface {
	// Discards names the reasons by which the kernel drops them, as it calls them: of
	// these it cannot be told what was lost.
	Discards() []string
}

// Place is a network stack of a path: host, or host/sandbox.
type Place struct {
	Name   string
	Shared bool // others have traffic there too, as on a host that is not the run's own
	// Read reads its counters. An error means that none could be read; what single
	// sources lack is among the reading's gaps.
	Read func(context.Context) (netstack.Reading, error)
}
