package labdriver

import (
	"strings"

	"tare/internal/driver"
)

// LinkDown is an event of every mode between the two hosts of a lab, as driver.PolicyAdded is.
const LinkDown = "link_down"

// SecondLinkEvents are the names of the events in which traffic moves to a second link between the hosts.
func SecondLinkEvents() []string { return []string{driver.RouteChange, driver.LinkLost} }

// WithEvents adds the names of the events of a lab to those of a mode. A mode within one host does not use the link between two.
func WithEvents(m driver.Mode) driver.Mode {
	if m.Split == driver.SplitAlone || strings.HasPrefix(m.ID, withinHost) || strings.HasPrefix(m.Baseline, withinHost) {
		return m
	}
	m.Events = append([]string{LinkDown, driver.PolicyAdded}, m.Events...)
	return m
}

// withinHost begins the name of the baseline of the modes within one host.
const withinHost = "host-local"
