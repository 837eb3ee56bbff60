package tcp

import (
	"runtime"

	"tare/internal/traffic/socket"
)

func fastest() path {
	return path{name: "fast", net: socket.Fast{}, request: requestFast, respond: respondFast, cycle: cycleFast, answer: answerFast,
		threads: &threads{bulk: bulk, several: several}}
}

// spareProcs is how many processors of the Go scheduler a trial leaves to the
// rest of the process.
const spareProcs = 3

// bulk gives the raw way to an end of few threads: a thread in a raw call keeps
// its processor, and the others of the process would have none.
func bulk(s socket.Stream, threads int) threadStream {
	fast := socket.FastStream(s.FD())
	if runtime.GOMAXPROCS(0)-threads < spareProcs {
		return fast
	}
	return socket.RawStream{FastStream: fast}
}
