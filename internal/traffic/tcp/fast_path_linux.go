package tcp

import (
	"runtime"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
)

func fastest() path {
	return path{name: "fast", net: socket.Fast{}, request: requestFast, respond: respondFast, runCRR: runCRRFast, serveCRR: serveCRRFast,
		threads: &threads{threadedStream: threadedStream, driveGroup: driveGroup,
			zeroCopy: newZeroCopyStream, mapZeroCopy: socket.MapZeroCopy, unmapZeroCopy: socket.UnmapZeroCopy}}
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

// kernelBuffers is a stream whose writes are sent from memory in place.
type kernelBuffers struct {
	threadStream
	*socket.ZeroCopy
}

func newZeroCopyStream(s threadStream, memory []byte, size int) zeroCopyStream {
	_, raw := s.(socket.RawStream)
	return kernelBuffers{s, socket.NewZeroCopy(s.FD(), memory, size, raw)}
}

// Write sends as many bytes as b has, but not b: the payload has no meaning.
func (k kernelBuffers) Write(b []byte) (int, error) { return k.Send(len(b)) }

func (k kernelBuffers) Counted() traffic.ZeroCopy { return traffic.ZeroCopy(k.Count()) }
