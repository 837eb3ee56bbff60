// Package linuxnet is the only room that speaks to the kernel about networks:
// namespaces, links, addresses, address translation, counters, offloads. What
// is above it says what to build, and never how a netlink message looks.
//
// It works the same as root and as the root of a user namespace.
package linuxnet
