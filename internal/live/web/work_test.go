package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/report"
	"tare/internal/testkit/must"
)

// Any number of requests is made by a few at a time; those that waited too long are told when to come again.
func TestWorkIsBounded(t *testing.T) {
	s, _ := site(t, "")
	load := s.Load
	var now atomic.Int32
	enough := make(chan struct{})
	s.Load = func(dir string) (report.Input, error) {
		if n := now.Add(1); n > maxMade {
			t.Errorf("%d pages are made at the same time", n)
		}
		defer now.Add(-1)
		<-enough
		return load(dir)
	}
	s.MakeTimeout = time.Millisecond
	h, answers := s.Handler(), make(chan *httptest.ResponseRecorder)
	const requests = 40
	ctx, leave := context.WithCancel(t.Context())
	for i := range requests {
		path := []string{"/run/a%20b/done", "/run/now", "/events/now"}[min(i%20, 2)]
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil))
			answers <- w
		}()
	}
	refused, received := 0, 0
	receive := func() {
		w := <-answers
		received++
		if w.Code == http.StatusServiceUnavailable {
			refused++
			must.EqualFor(t, "Retry-After", "10", w.Header().Get("Retry-After"))
		}
	}
	for refused < 2 { // of the four pages at most two are made
		receive()
	}
	close(enough)
	leave() // the pages that watch
	for received < requests {
		receive()
	}
	must.EqualFor(t, "afterwards: code", http.StatusOK, asked(s, "/run/a%20b/done").Code)
}

// Pages that nobody receives take a bounded amount of memory together; a single one may take more.
func TestHeldPages(t *testing.T) {
	k := newWork(0)
	first, ok := k.hold(maxHeld + 1)
	must.Require(t, ok, "a large page was refused")
	if _, ok := k.hold(1); ok {
		t.Error("a page beside too much was held")
	}
	first()
	for range 2 {
		if _, ok := k.hold(maxHeld / 2); !ok {
			t.Error("a page was refused after the large one was received")
		}
	}
	if _, ok := k.hold(1); ok {
		t.Error("more than the bound was held")
	}
}
