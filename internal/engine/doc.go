// Package engine is a client of the Docker Engine API: engines, images, networks, Swarms and
// containers, the agents that run in containers and why they exit, and the leftovers of dead runs.
// It has no knowledge of modes and paths.
//
// Package locate finds an existing engine, package private starts one on a host of a lab. Only
// objects with the label of a run are changed on an engine.
package engine
