// Package lab creates the hosts that modes are built on: two network namespaces, a and b,
// connected by a veth underlay without a route to the outside. Every mode gets its own lab,
// so that the rules of one mode are never on the path of another, in particular not on the
// baseline's.
package lab
