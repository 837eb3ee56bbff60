package driver

import (
	"slices"

	"tare/internal/result"
)

// Forwarded reports whether a process forwards the packets of a path with these rules and nodes: its proof requires one to be busy, or
// they pass a device, a proxy or a relay behind which there is one.
func Forwarded(rules []Rule, nodes []result.Node) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Expect == ProcessBusy }) ||
		slices.ContainsFunc(nodes, func(n result.Node) bool { return slices.Contains([]string{"tuntap", "proxy", "relay"}, n.Kind) })
}
