// Package engine is the client side of the Docker Engine API: what an engine says of
// itself, its images, networks, Swarm and containers, the agents that are executed in
// those, how they end, and what dead runs have left there. It knows no mode and no path.
//
// Package locate finds an engine that is there already, package private starts one on a
// host of a lab. Nothing on an engine is touched but what carries the label of a run.
package engine
