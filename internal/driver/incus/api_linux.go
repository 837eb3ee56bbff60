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
	Err      string `json:"err"`
	Metadata struct {
		Fingerprint string `json:"fingerprint"` // of an image
	} `json:"metadata"`
}

// begin begins an operation and waits for its end. Incus's client does not do it: it waits for an event that an operation of a few
// milliseconds has sent before the daemon knows who listens, and then waits for ever.
func (s *server) begin(ctx context.Context, method, path string, body io.Reader) (done operation, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout(), fmt.Errorf("it did not end within %v", requestTimeout()))
	defer cancel()
	begun, err := s.ask(ctx, method, path, body)
	if err == nil {
		begun, err = s.ask(ctx, http.MethodGet, begun.Operation+"/wait", nil)
	}
	if err == nil {
		err = json.Unmarshal(begun.Metadata, &done)
	}
	if err == nil && done.Err != "" {
		err = errors.New(done.Err)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return done, fmt.Errorf("%s: %s %s: %w%s", s.Name, method, path, err, tested().Beyond("Incus", s.in.version))
	}
	return done, nil
}

// change is begin with a body of JSON.
func (s *server) change(ctx context.Context, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err == nil {
		_, err = s.begin(ctx, method, path, bytes.NewReader(text))
	}
	return err
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
