package incus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
)

// maxAnswer bounds an answer of Incus's API, in bytes.
const maxAnswer = 4 << 20

// answer is what Incus's API answers: what was asked for, or the operation that was begun.
type answer struct {
	Error     string          `json:"error"`
	Operation string          `json:"operation"`
	Metadata  json.RawMessage `json:"metadata"`
}

// operation is one that has ended.
type operation struct {
	Err      string          `json:"err"`
	Metadata json.RawMessage `json:"metadata"` // its result
}

// call sends a request to Incus's API, waits for the end of the operation that it begins, if it does, and decodes the result into a value, unless
// that is nil. The body is nil, a reader, or a value to send as JSON. Incus's own client is not used: it waits for an event that an operation of
// a few milliseconds has sent before the daemon knows who listens, and then waits for ever.
func (s *server) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout(), fmt.Errorf("it did not end within %v", requestTimeout()))
	defer cancel()
	err := s.exchange(ctx, method, path, body, into)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: %s %s: %w%s", s.Name, method, path, err, tested().Beyond("Incus", s.in.version))
}

// exchange is call without a time limit.
func (s *server) exchange(ctx context.Context, method, path string, body, into any) error {
	var sent io.Reader
	switch body := body.(type) {
	case nil:
	case io.Reader:
		sent = body
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	a, err := s.ask(ctx, method, path, sent)
	if err == nil && a.Operation != "" {
		var done operation
		if a, err = s.ask(ctx, http.MethodGet, a.Operation+"/wait", nil); err == nil {
			err = json.Unmarshal(a.Metadata, &done)
		}
		if err == nil && done.Err != "" {
			err = errors.New(done.Err)
		}
		a.Metadata = done.Metadata
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(a.Metadata, into)
}

// ask sends a request to Incus's API.
func (s *server) ask(ctx context.Context, method, path string, body io.Reader) (a answer, err error) {
	socket := filepath.Join(s.RunDir(), stateDir, "unix.socket")
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://incus"+path, body)
	if err != nil {
		return a, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&a); err != nil {
		return a, fmt.Errorf("it answers with status %s, and no JSON: %w", response.Status, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}
