// Package engine is Docker Engines: how one is found or started, what it says of
// itself, and the containers that agents run in. It knows no mode and no path.
//
// There are two kinds. A private engine is started by this package on a host of a
// lab, with its own data, socket, mounts and processes, and is gone without a trace
// when it is closed. An existing engine is the user's: nothing on it is touched but
// what carries the label of a run.
package engine
