package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxMade is how many pages are made at the same time, and maxHeld the memory of made pages
// that browsers have not received yet, in bytes: a single page may take more.
const (
	maxMade = 2
	maxHeld = 64 << 20
)

// makeTimeout is how long a request waits for those that are being made.
const makeTimeout = 10 * time.Second

// work bounds what all requests together cost.
type work struct {
	making chan struct{}
	wait   time.Duration

	mu   sync.Mutex
	held int // bytes
}

func newWork(wait time.Duration) *work {
	return &work{making: make(chan struct{}, maxMade), wait: wait}
}

// begin waits until a page may be made, and returns what ends its making, or false.
func (k *work) begin(ctx context.Context) (end func(), ok bool) {
	late := time.NewTimer(k.wait)
	defer late.Stop()
	select {
	case k.making <- struct{}{}:
		return func() { <-k.making }, true
	case <-late.C:
	case <-ctx.Done():
	}
	return nil, false
}

// hold counts a page that is about to be sent, and returns what counts it as sent, or false.
func (k *work) hold(size int) (sent func(), ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held > 0 && k.held+size > maxHeld {
		return nil, false
	}
	k.held += size
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.held -= size
	}, true
}

// made makes a page completely, within the bounds, before it sends any of it.
func (s Server) made(k *work, page func(*pending, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end, ok := k.begin(r.Context())
		if !ok {
			s.busy(w, fmt.Sprintf("%d pages are being made: try again in a few seconds", maxMade))
			return
		}
		p := &pending{header: w.Header(), code: http.StatusOK}
		func() {
			defer end()
			page(p, r)
		}()
		sent, ok := k.hold(p.body.Len())
		if !ok {
			s.busy(w, "other browsers are still receiving large pages: try again in a few seconds")
			return
		}
		defer sent()
		w.WriteHeader(p.code)
		_, _ = w.Write(p.body.Bytes()) // the browser may have closed the connection
	}
}

// busy refuses a request for now.
func (s Server) busy(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(makeTimeout.Seconds())))
	s.fail(w, http.StatusServiceUnavailable, text)
}

// pending is a page that is being made.
type pending struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header is that of the answer.
func (p *pending) Header() http.Header { return p.header }

// WriteHeader keeps the status.
func (p *pending) WriteHeader(code int) { p.code = code }

// Write keeps a part of the page.
func (p *pending) Write(b []byte) (int, error) { return p.body.Write(b) }
