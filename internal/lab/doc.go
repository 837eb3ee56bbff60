// Package lab makes the hosts that modes are built on: two network namespaces,
// a and b, joined by one veth underlay with no route out. Every mode gets a lab
// of its own, so that one mode's rules never sit on another's path, least of all
// on the baseline's.
package lab
