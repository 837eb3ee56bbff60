package web

import (
	"errors"
	"fmt"
	"time"

	"tare/internal/study/quantity"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/http2"
	"tare/internal/traffic/secure"
)

// httpFailure is how a request failed. It is counted, and its flow sends the next.
type httpFailure int

const (
	httpUnanswered  httpFailure = iota // no response in time
	httpTurnedAway                     // no connection: by the other host, or by what is before it
	httpCutOff                         // the connection ended before the response began
	httpTruncated                      // the connection ended within the response
	httpClientError                    // status 4xx
	httpServerError                    // status 5xx
	httpInsecure                       // no TLS of the trial: its certificate, an alert, another protocol
	httpMalformed                      // no response of HTTP
	httpCallFailed                     // a status of gRPC that is not OK
	httpOther                          // a response, but not that of this trial: a redirect, another server, another body
	httpFailures                       // their number
)

func (f httpFailure) String() string {
	return [...]string{"without a response in time", "refused", "reset", "truncated", "answered 4xx", "answered 5xx", "failed in TLS", "not answered in HTTP", "answered with an error of gRPC", "answered with something else"}[f]
}

// answerError is a response that is not that of the trial.
type answerError struct {
	kind httpFailure
	text string
}

func (e *answerError) Error() string { return e.text }

// httpFailureOf tells how a request failed from errors of this host, which end a trial. begun means that a part of the
// response had arrived.
func httpFailureOf(err error, begun bool) (f httpFailure, counted bool) {
	var answered *answerError
	var malformed *http1.Error
	var malformed2 *http2.Error
	var reset *http2.ResetError
	var gone *http2.GoneError
	var insecure *secure.Error
	switch {
	case errors.As(err, &answered):
		return answered.kind, true
	case errors.As(err, &malformed), errors.As(err, &malformed2), errors.As(err, &reset) && reset.Ours != "":
		return httpMalformed, true
	case errors.As(err, &gone), reset != nil && reset.Code == http2.RefusedStream:
		return httpTurnedAway, true
	case reset != nil && begun:
		return httpTruncated, true
	case reset != nil:
		return httpCutOff, true
	case errors.As(err, &insecure), errors.Is(err, secure.ErrNotTLS):
		return httpInsecure, true
	case errors.Is(err, http1.ErrTruncated):
		return httpTruncated, true
	}
	switch of, counted := connection.FailureOf(err); {
	case !counted:
		return 0, false
	case of == connection.Unanswered:
		return httpUnanswered, true
	case of == connection.TurnedAway:
		return httpTurnedAway, true
	case begun:
		return httpTruncated, true
	}
	return httpCutOff, true
}

// ofConnection returns how the connection of the request failed, if it was not an answer that was wrong.
func (f httpFailure) ofConnection() (connection.Failure, bool) {
	switch f {
	case httpUnanswered:
		return connection.Unanswered, true
	case httpTurnedAway:
		return connection.TurnedAway, true
	case httpCutOff, httpTruncated:
		return connection.CutOff, true
	}
	return 0, false
}

// systematic reports whether others of the trial will fail in the same way, if none has succeeded.
func (f httpFailure) systematic() bool {
	return f == httpInsecure || f == httpMalformed || f == httpOther
}

// check returns what is wrong with a complete response, which is to have that size.
func (t *httpTrial) check(h *http1.Head, body int64, want quantity.Size) error {
	tag, _ := h.Field(http1.TagField)
	coding, _ := h.Field("Content-Encoding")
	if h.Is("Content-Encoding", "identity") {
		coding = nil
	}
	if h.Status == http1.StatusOK && string(tag) == t.answer && len(coding) == 0 && body == int64(want) {
		return nil
	}
	to, _ := h.Field("Location")
	return t.wrong(h.Status, string(tag), string(to), string(coding), body, want)
}

// wrong returns what is wrong with a response that is not that of the trial, of this status, tag, location, coding and body.
func (t *httpTrial) wrong(status int, tag, to, coding string, body int64, want quantity.Size) error {
	other := func(format string, args ...any) error {
		return &answerError{httpOther, fmt.Sprintf(format, args...)}
	}
	switch {
	case status >= 500:
		return &answerError{httpServerError, "the answer is " + http1.Status(status)}
	case status >= 400:
		return &answerError{httpClientError, "the answer is " + http1.Status(status)}
	case status >= 300:
		return other("the answer is a redirect: %s, to %q; use the address that it leads to", http1.Status(status), to)
	case status != http1.StatusOK:
		return other("the answer is %s, not 200", http1.Status(status))
	case tag != t.answer:
		return other("another server answers on this port, or something removes the header field %s from responses", http1.TagField)
	case coding != "":
		return other("something on the path compresses responses: their content encoding is %q", coding)
	}
	return other("the response has a body of %d bytes, not %d", body, want)
}

// fail counts a request that began at begun, or was due then, and ended with err. It returns err if that ends the
// trial: if it is of this host, if nothing was ever answered in a way in which nothing will be, or if so many in a row
// failed that the server has gone.
func (w *httpWindow) fail(err error, partial bool, begun, at time.Duration) error {
	f, counted := httpFailureOf(err, partial)
	if !counted {
		return err
	}
	if of, ok := f.ofConnection(); ok {
		w.tried.Add(of)
	}
	return w.failAs(f, err, begun, at)
}

// failAs is fail for a request that failed in that way, and the connection not.
func (w *httpWindow) failAs(f httpFailure, err error, begun, at time.Duration) error {
	if w.Bins.Add(begun, at, false) {
		w.lost[f]++
	}
	w.lostInRow[f]++
	w.failed++
	most := int64(connection.MostRefused)
	if w.t.of2() { // a connection fails with all its streams
		most *= int64(w.t.together())
	}
	if f == httpUnanswered {
		most = int64(connection.MostUnanswered + w.Params.Streams)
	}
	switch never := w.before == 0 && w.Bins.Total == 0; {
	case !never && w.Params.Event != "": // each request is tried once, and the schedule has so many
		return nil
	case never && f.systematic(), never && f == httpUnanswered && w.lostInRow[f] >= int64(w.Params.Streams):
		return err
	case w.lostInRow[f] > most:
		return fmt.Errorf("%w, as did %d before it", err, w.lostInRow[f]-1)
	}
	return nil
}

// httpTally are counts by kind of failure.
type httpTally [httpFailures]int64

// String lists the kinds that occurred, as that of tally does.
func (t httpTally) String() string {
	return connection.Listed(t[:], func(kind int) string { return httpFailure(kind).String() })
}
