package result

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// Stacks is what stacks sampled in one trial came to: how many of them were of CPUs
// at work, and in which component of [ComponentNames] each was. Counts are samples.
type Stacks struct {
	Rate    float64 `json:"rate"`    // samples a second of each CPU
	Seconds float64 `json:"seconds"` // sampled, of the timed window
	CPUs    int     `json:"cpus"`    // sampled
	Busy    int     `json:"busy"`
	Idle    int     `json:"idle"`
	Lost    int     `json:"lost,omitempty"` // that found no room, or that the kernel held back
	// Components counts the busy ones by component; those that no rule knows are
	// under [Unclassified].
	Components map[string]int `json:"components"`
}

// CPU is the mean number of CPUs at work, by the samples. It is false where too
// little was sampled to say.
func (s Stacks) CPU() (float64, bool) {
	if s.Busy+s.Idle == 0 {
		return 0, false
	}
	return float64(s.Busy) / float64(s.Busy+s.Idle) * float64(s.CPUs), true
}

// Unclassified is the component of samples that no rule knows.
const Unclassified = "unknown"

// ComponentNames lists what samples are sorted into, in the order of a breakdown: from
// the program that sends down to the wire, then what is beside the path.
func ComponentNames() []string {
	return []string{
		"generator", "userspace proxy", "syscall entry", "copy", "memory", "TCP/UDP", "IP", "routing", "netfilter", "crypto",
		"VXLAN", "other tunnel", "macvlan/ipvlan", "bridge", "Open vSwitch", "eBPF", "qdisc", "GSO/GRO", "checksum", "veth", "tun/tap", "driver",
		"softirq and device core", "scheduler", "other programs", "watching", Unclassified,
	}
}

// Beside is whether a component is no part of a mode's cost: work that others do on the
// machine all the time, which a bill leaves out.
func Beside(component string) bool { return component == "other programs" || component == "watching" }

// Breakdown says where the CPU time of a mode with a workload went, by sampled
// stacks. Those of one workload have the same components in the same order, so that
// a mode stands beside its baseline line by line.
type Breakdown struct {
	Mode     string `json:"mode"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`         // sampled
	Samples  int    `json:"samples"`        // of CPUs at work, all trials together
	Lost     int    `json:"lost,omitempty"` // samples
	// CPUs is the mean number of CPUs at work by the samples, nil where unknown.
	CPUs *float64 `json:"cpus,omitempty"`
	// Cost is the whole, in Unit, and every component's Cost a part of it, in proportion to
	// the samples that are not [Beside] the mode. Nil where it is unknown.
	Cost *float64 `json:"cost,omitempty"`
	Unit string   `json:"unit,omitempty"` // of costs, such as s/Gbit
	// Unknown is the share (0..1) that no rule knows, of the samples that are not [Beside]
	// the mode. It is among Components, too, as of all.
	Unknown    float64     `json:"unknown"`
	Components []Component `json:"components"`
	File       string      `json:"file,omitempty"`    // of the folded stacks, in the run's directory
	Missing    string      `json:"missing,omitempty"` // why there is nothing but the names
}

// Component is one line of a breakdown. Share is of the samples of CPUs at work, 0..1;
// a 0 is a count: none of them was in it. Cost is its part of the CPU cost, and CI the
// 95 % interval of that over the trials; nil where unknown, and for what is [Beside] the
// mode.
type Component struct {
	Name  string    `json:"name"`
	Share float64   `json:"share"`
	Cost  *float64  `json:"cost,omitempty"`
	CI    *Interval `json:"ci,omitempty"`
}

// StacksFile is the file in a run's directory that the folded stacks of a mode and
// workload are in. Its name has only letters, digits and . _ - in it.
func StacksFile(mode, workload string) string {
	return "stacks/" + fileWord(mode) + "." + fileWord(workload) + ".folded"
}

// fileWord is a name as every file system takes it. What is replaced is told apart by a
// sum of the whole, unless it is only the / of a mode.
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

// longestWord bounds a part of a file's name, so that two and what is around them fit
// into 255 bytes.
const longestWord = 80
