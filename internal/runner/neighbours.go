package runner

import (
	"os"
	"strconv"
	"strings"

	"tare/internal/warning"
)

// neighbourLimit is the maximum number of entries of the kernel's neighbour table for IPv4.
const neighbourLimit = "/proc/sys/net/ipv4/neigh/default/gc_thresh3"

// neighboursOfPair is how many entries a pair of sandboxes behind routers needs: each sandbox
// has one for its router, and the router one for it.
const neighboursOfPair = 4

// warnNeighbours warns if the pairs of the modes that were set up need a larger neighbour table
// than this machine has. Where the limit is not shown, as inside a network namespace, it is not
// known.
func (r *testbed) warnNeighbours() {
	if r.cfg.Machines.Apart() {
		return
	}
	text, err := os.ReadFile(neighbourLimit)
	if err != nil {
		return
	}
	modes := 0
	for _, s := range r.tested {
		// The endpoints of a baseline are on the hosts themselves, and have their hosts' entries.
		if s.path != nil && s.mode.Baseline != "" {
			modes++
		}
	}
	if needed, limit, short := neighboursShort(text, modes, r.mostPairs()); short {
		r.warn(warning.NeighbourTable, "run", "the endpoints of all modes need about %d entries of the kernel's neighbour table, whose limit is %d: connections will fail or lose packets. "+
			"Measure fewer pairs or modes in a run, or raise the limit (sysctl -w net.ipv4.neigh.default.gc_thresh3=%d).", needed, limit, 4*needed)
	}
}

// neighboursShort reports whether modes with pairs of sandboxes need more entries than a limit,
// the content of neighbourLimit. Content that is no number is no limit.
func neighboursShort(text []byte, modes, pairs int) (needed, limit int, short bool) {
	needed = modes * pairs * neighboursOfPair
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return needed, limit, err == nil && needed > limit
}
