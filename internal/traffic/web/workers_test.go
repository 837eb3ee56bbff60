package web

import (
	"errors"
	"testing"
	"testing/synctest"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// A worker that is free takes the next connection, another begins if none is, and each error is passed on.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed []error
		w := newWorkers(traffic.Params{CPU: -1}, func(err error) { failed = append(failed, err) })
		var used []*byte
		serve := func(wait chan struct{}, err error) {
			w.do(func(buf []byte) error {
				used = append(used, &buf[0])
				<-wait
				return err
			})
			synctest.Wait()
		}
		ended, open := make(chan struct{}), make(chan struct{})
		close(ended)
		serve(ended, nil)
		serve(ended, errors.New("broken"))
		serve(open, nil)
		serve(ended, nil) // beside the third
		close(open)
		synctest.Wait()
		w.stop()
		must.Equal(t, []bool{true, true, false, false}, []bool{used[0] == used[1], used[1] == used[2], used[2] == used[3], len(failed) != 1})
		must.Fail(t, failed[0], "broken")
	})
}

// Workers that cannot be pinned say so.
func TestWorkersNotPinned(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	w := newWorkers(traffic.Params{CPU: 1 << 20}, func(err error) { failed <- err })
	w.do(func([]byte) error { return errors.New("it ran") })
	w.stop()
	if err := <-failed; err.Error() == "it ran" {
		t.Error("it ran on no such CPU")
	}
}
