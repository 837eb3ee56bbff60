package web

import (
	"sync"

	"tare/internal/traffic"
	"tare/internal/traffic/thread"
)

// workers serve the connections of an endpoint, each one at a time, on threads if the endpoint's are pinned or have a priority,
// else on goroutines. One that is free takes the next connection, so that short ones do not begin a thread each.
type workers struct {
	threads *thread.Settings // nil for goroutines
	work    chan func(buf []byte) error
	over    chan struct{}
	wg      sync.WaitGroup
	fail    func(error)
}

// newWorkers returns the workers of an endpoint. fail receives each error of theirs.
func newWorkers(p traffic.Params, fail func(error)) *workers {
	w := &workers{work: make(chan func([]byte) error), over: make(chan struct{}), fail: fail}
	if p.CPU >= 0 || p.RealTime() {
		t := p.Threading()
		w.threads = &t
	}
	return w
}

// run runs fn as a worker does, and returns its error.
func (w *workers) run(fn func(buf []byte) error) error {
	if w.threads == nil {
		return fn(make([]byte, httpBuffer))
	}
	return w.threads.Run(1, func(int) error { return fn(make([]byte, httpBuffer)) })
}

// do runs fn, which serves a connection, at once: on a worker that is free or on another.
func (w *workers) do(fn func(buf []byte) error) {
	select {
	case w.work <- fn:
		return
	default:
	}
	w.wg.Go(func() {
		err := w.run(func(buf []byte) error {
			for {
				if err := fn(buf); err != nil {
					w.fail(err)
				}
				select {
				case fn = <-w.work:
				case <-w.over:
					return nil
				}
			}
		})
		if err != nil {
			w.fail(err)
		}
	})
}

// stop waits until all have ended. It is called once, after the last do.
func (w *workers) stop() {
	close(w.over)
	w.wg.Wait()
}
