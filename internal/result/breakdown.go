package result

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// Stacks summarises the stacks sampled in one trial: how many were of busy CPUs, and in
// which component of [ComponentNames] each was. Counts are samples.
type Stacks struct {
	Rate    float64 `json:"rate"`    // samples per second and CPU
	Seconds float64 `json:"seconds"` // sampled part of the timed window
	CPUs    int     `json:"cpus"`    // sampled
	Busy    int     `json:"busy"`
	Idle    int     `json:"idle"`
	Lost    int     `json:"lost,omitempty"` // no buffer space, or throttled by the kernel
	// Components counts the busy samples by component; those that match no rule are under
	// [Unclassified].
	Components map[string]int `json:"components"`
}

// CPU is the mean number of busy CPUs according to the samples. ok is false if there are
// too few samples.
func (s Stacks) CPU() (float64, bool) {
	if s.Busy+s.Idle == 0 {
		return 0, false
	}
	return float64(s.Busy) / float64(s.Busy+s.Idle) * float64(s.CPUs), true
}

// Unclassified is the component of samples that match no rule.
const Unclassified = "unknown"

// ComponentNames lists the components in the order of a breakdown: from the sending
// program down to the wire, then what is not on the path.
func ComponentNames() []string {
	return []string{
		"generator", "userspace proxy", "syscall entry", "copy", "memory", "TCP/UDP", "IP", "routing", "netfilter", "crypto",
		"VXLAN", "other tunnel", "macvlan/ipvlan", "bridge", "Open vSwitch", "eBPF", "qdisc", "GSO/GRO", "checksum", "veth", "tun/tap", "driver",
		"softirq and device core", "scheduler", "other programs", "watching", Unclassified,
	}
}

// Beside reports whether a component is not part of a mode's cost: work of other programs
// on the machine, which the CPU cost excludes.
func Beside(component string) bool { return component == "other programs" || component == "watching" }

// Breakdown attributes the CPU time of a mode with a workload to components, from sampled
// stacks. All breakdowns of one workload have the same components in the same order, so
// that a mode and its baseline can be compared line by line.
type Breakdown struct {
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`         // sampled
	Samples  int    `json:"samples"`        // of busy CPUs, all trials together
	Lost     int    `json:"lost,omitempty"` // samples
	// CPUs is the mean number of busy CPUs according to the samples, nil if unknown.
	CPUs *float64 `json:"cpus,omitempty"`
	// Cost is the total in Unit, and every component's Cost a part of it, in proportion
	// to its samples, without those that are [Beside] the mode. Nil if unknown.
	Cost *float64 `json:"cost,omitempty"`
	Unit string   `json:"unit,omitempty"` // of costs, such as s/Gbit
	// Unknown is the share (0..1) of samples that match no rule, among those that are not
	// [Beside] the mode. Components also contains it, as a share of all samples.
	Unknown    float64     `json:"unknown"`
	Components []Component `json:"components"`
	File       string      `json:"file,omitempty"`    // of the folded stacks, in the run's directory
	Missing    string      `json:"missing,omitempty"` // why the breakdown has no values
}

// Component is one line of a breakdown. Share is its share of the samples of busy CPUs,
// 0..1; 0 is a count: no sample was in it. Cost is its part of the CPU cost, and CI the
// 95 % interval of that over the trials; both are nil if unknown, and for components that
// are [Beside] the mode.
type Component struct {
	Name  string    `json:"name"`
	Share float64   `json:"share"`
	Cost  *float64  `json:"cost,omitempty"`
	CI    *Interval `json:"ci,omitempty"`
}

// StacksFile is the name of the file in a run's directory with the folded stacks of a
// mode and workload. It contains only letters, digits and . _ -.
func StacksFile(mode, workload string) string {
	return "stacks/" + fileWord(mode) + "." + fileWord(workload) + ".folded"
}

// fileWord converts a name so that every file system accepts it. A checksum of the whole
// name keeps names with replaced characters distinct, unless only the / of a mode was
// replaced.
func fileWord(name string) string {
	changed := false
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
			return r
		case r == '/':
			return '-'
		}
		changed = true
		return '_'
	}, name)
	if changed || len(safe) > longestWord {
		return fmt.Sprintf("%.*s-%08x", longestWord, safe, crc32.ChecksumIEEE([]byte(name)))
	}
	return safe
}

// longestWord bounds one part of a file name, so that two parts and the rest fit into 255
// bytes.
const longestWord = 80
