package daemon

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/timelimit"
)

// answerTimeout limits how long a process may take to answer, unless Exchange.Timeout is set.
func answerTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// Lockstep is a connection on which each request is answered before the next is sent, and an answer does not say of what request it
// is. After one that failed all fail, with the same error: an answer that came late would be taken for that of the next request.
type Lockstep struct{ failed error }

// Do calls exchange, which sends a request and reads its answer, unless one failed before.
func (l *Lockstep) Do(exchange func() error) error {
	if l.failed == nil {
		l.failed = exchange()
	}
	return l.failed
}

// Exchange is a process that answers lines of JSON on its stdin with such lines on its stdout.
type Exchange struct {
	*Process
	// Timeout limits how long an answer may take; 0 is a limit for answers that need no work.
	Timeout time.Duration
	mu      sync.Mutex
	lines   *bufio.Reader
	answers Lockstep
}

// NewExchange returns the exchange with a process that StartSelf started.
func NewExchange(p *Process) *Exchange { return &Exchange{Process: p, lines: bufio.NewReader(p)} }

// Send writes a line. It may contain secrets, so no error contains it.
func (e *Exchange) Send(what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if _, err := e.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to %s: %w", e.Name, err)
	}
	return nil
}

// Receive reads a line. If the process has exited, the error is its exit reason.
func (e *Exchange) Receive(into any) error {
	err := e.answers.Do(func() error { return e.receive(into) })
	if err == nil {
		return nil
	}
	if reason := e.ExitReason(); reason != "" {
		return errors.New(reason)
	}
	return fmt.Errorf("read the reply of %s: %w", e.Name, err)
}

func (e *Exchange) receive(into any) error {
	if err := e.SetReadTimeout(cmp.Or(e.Timeout, answerTimeout())); err != nil {
		return err
	}
	line, err := e.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// Ask sends a line and reads the answer. It may be called by several goroutines.
func (e *Exchange) Ask(what, into any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.Send(what); err != nil {
		return err
	}
	return e.Receive(into)
}
