package tcp

import (
	"runtime"

	"tare/internal/traffic/socket"
)

func fastest() path {
	return path{name: "fast", net: socket.Fast{}, request: requestFast, respond: respondFast, runCRR: runCRRFast, serveCRR: serveCRRFast,
		threads: &threads{threadedStream: threadedStream, driveGroup: driveGroup}}
}

// spareProcs is how many processors of the Go scheduler a trial leaves to the rest of the process.
const spareProcs = 3

// threadedStream returns the raw stream if the endpoint has few threads: a thread in a raw call
// keeps its processor, and with many threads the rest of the process would have none.
func threadedStream(s socket.Stream, threads int) threadStream {
	fast := socket.FastStream(s.FD())
	if runtime.GOMAXPROCS(0)-threads < spareProcs {
		return fast
	}
	return socket.RawStream{FastStream: fast}
}
