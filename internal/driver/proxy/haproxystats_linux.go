package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"tare/internal/driver/daemon"
	"tare/internal/timelimit"
)

// haproxyStats counts the requests of an HAProxy, with those of the workers that were replaced. It keeps a connection to each
// worker: one that was replaced runs, and answers, until its last connection is closed.
type haproxyStats struct {
	path string // of the socket of the worker that listens

	mu      sync.Mutex
	workers []*haproxyWorker // the newest is the last
	ended   uint64           // requests of those that have ended
}

// haproxyWorker is a worker over a connection to its own socket.
type haproxyWorker struct {
	pid int
	net.Conn
	answers daemon.Lockstep
}

// requests returns how many requests all workers have received.
func (s *haproxyStats) requests(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.workers) == 0 {
		w, err := s.connect(ctx)
		if err != nil {
			return 0, err
		}
		s.workers = append(s.workers, w)
	}
	sum := s.ended
	for _, w := range s.workers {
		n, err := w.requests(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// connect connects to the worker that has the socket.
func (s *haproxyStats) connect(ctx context.Context) (*haproxyWorker, error) {
	c, err := dialOwn(ctx, s.path)
	if err != nil {
		return nil, err
	}
	w := &haproxyWorker{Conn: c}
	_, err = w.ask(ctx, haproxyKeep)
	if err == nil {
		var text string
		if text, err = w.ask(ctx, haproxyProcess); err == nil {
			w.pid, err = haproxyPID(text)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return w, nil
}

// replaced waits until another worker than those known has the socket, and keeps a connection to it.
func (s *haproxyStats) replaced(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		w, err := s.connect(ctx)
		if err != nil {
			return err
		}
		if len(s.workers) == 0 || s.workers[len(s.workers)-1].pid != w.pid {
			s.workers = append(s.workers, w)
			return nil
		}
		if err := w.Close(); err != nil {
			return err
		}
		select {
		case <-time.After(reloadPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ending reads what the workers that were replaced have received in all, and lets them end.
func (s *haproxyStats) ending(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.workers) > 1 {
		n, err := s.workers[0].requests(ctx)
		if err != nil {
			return err
		}
		if err := s.workers[0].Close(); err != nil {
			return err
		}
		s.ended += n
		s.workers = s.workers[1:]
	}
	return nil
}

// close closes the connections to all workers.
func (s *haproxyStats) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, w := range s.workers {
		errs = append(errs, w.Close())
	}
	s.workers = nil
	return errors.Join(errs...)
}

// requests returns how many requests the worker has received.
func (w *haproxyWorker) requests(ctx context.Context) (uint64, error) {
	text, err := w.ask(ctx, haproxyQuery)
	if err != nil {
		return 0, err
	}
	return haproxyRequests(text)
}

// ask returns the answer to a question, without the prompt behind it.
func (w *haproxyWorker) ask(ctx context.Context, question string) (answer string, err error) {
	err = w.answers.Do(func() error {
		answer, err = w.exchange(ctx, question)
		return err
	})
	return answer, err
}

func (w *haproxyWorker) exchange(ctx context.Context, question string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(readyTimeout))
	defer cancel()
	if err := w.SetDeadline(time.Time{}); err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = w.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(w, question); err != nil {
		return "", fmt.Errorf("ask worker %d: %w", w.pid, err)
	}
	var text strings.Builder
	buf := make([]byte, 4<<10)
	for text.Len() < maxAnswer {
		n, err := w.Read(buf)
		text.Write(buf[:n])
		if answer, whole := strings.CutSuffix(text.String(), haproxyPrompt); whole {
			return answer, nil
		}
		if err != nil {
			return "", fmt.Errorf("read the answer of worker %d: %w", w.pid, err)
		}
	}
	return "", fmt.Errorf("the answer of worker %d has more than %d bytes", w.pid, maxAnswer)
}
