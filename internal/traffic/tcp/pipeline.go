package tcp

import (
	"errors"
	"fmt"
	"time"

	"tare/internal/traffic"
)

// Of a pipeline a connection has several requests in progress, which the server answers in their order. A request begins when a response has
// arrived; requests that begin at once are sent in one call, and so are responses to requests that were read in one call. Messages have no
// content, so both endpoints count bytes.

// pipelined reports whether a trial has more than one request in progress on a connection.
func pipelined(p traffic.Params, in content) bool { return p.Pipeline > 1 && in == nil }

// inProgress are the requests in progress on a connection: when each began, the oldest first.
type inProgress struct {
	began []time.Duration // a ring
	first int
	n     int
	got   int // bytes received of the oldest's response
}

func newInProgress(p traffic.Params) inProgress {
	return inProgress{began: make([]time.Duration, p.Pipeline)}
}

// begin adds k requests that begin at once. There is room for them.
func (f *inProgress) begin(k int, at time.Duration) {
	for range k {
		f.began[(f.first+f.n)%len(f.began)] = at
		f.n++
	}
}

// errUnasked is the error of a server that sent more than the responses to all requests.
var errUnasked = errors.New("receive response: the server sent unexpected data")

// receive takes n bytes that arrived at a time, and calls done with when each request began to which they complete the response. It returns how
// many these were.
func (f *inProgress) receive(n, size int, done func(from time.Duration)) (k int, err error) {
	f.got += n
	k = f.got / size
	if k > f.n || k == f.n && f.got%size > 0 {
		return 0, errUnasked
	}
	f.got %= size
	for range k {
		done(f.began[f.first])
		f.first = (f.first + 1) % len(f.began)
	}
	f.n -= k
	return k, nil
}

// toAnswer are the bytes of requests and responses on a connection of the server.
type toAnswer struct {
	got  int // received of the current request
	owed int // to send, of responses
	sent int // of the current response
}

// receive takes n bytes that arrived.
func (f *toAnswer) receive(n int, p traffic.Params) error {
	f.got += n
	k := f.got / int(p.RequestSize)
	f.got %= int(p.RequestSize)
	if f.owed += k * int(p.ResponseSize); f.owed > p.Pipeline*int(p.ResponseSize) {
		return fmt.Errorf("receive request: more than %d at once", p.Pipeline)
	}
	return nil
}

// answered takes n bytes that were sent, and returns how many responses they complete.
func (f *toAnswer) answered(n int, p traffic.Params) (k int64) {
	f.owed -= n
	f.sent += n
	k = int64(f.sent / int(p.ResponseSize))
	f.sent %= int(p.ResponseSize)
	return k
}

// pipelineBuffer is the length of a buffer for so many messages: with a byte more than all of them have, so that a read that takes all is
// known to have taken all.
func pipelineBuffer(p traffic.Params, size int) int { return min(p.Pipeline*size+1, readSize) }
