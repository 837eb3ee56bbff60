// Package agentfile has the program of an agent, a small one that links only what an agent needs.
// `make` builds it first and puts it, compressed, into tare. In a tare that was built without
// make, the program itself is its agent.
package agentfile

import "strings"

// MaxSize bounds the size of the agent's program, in bytes. It is what a container's image has.
const MaxSize = 8_600_000

// ID identifies the sources of this program. Programs with the same one, for any system, may be
// each other's agents. It is empty if the program was built without make: it is then its own agent.
func ID() string { return strings.TrimSpace(id) }

// Tags returns the build tags with which another program has the same ID, for go build.
func Tags() string {
	if ID() == "" {
		return ""
	}
	return "buildid"
}

// Describe says which program an agent on this machine is, for people.
func Describe() string {
	if _, err := Path(); err != nil {
		return "the whole program: " + err.Error()
	}
	return "a program of its own"
}
