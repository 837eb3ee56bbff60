package kube

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"tare/internal/timelimit"
)

// An answer of a cluster may have so many bytes and, because three bytes of JSON become a structure of a
// thousand, so many objects. The largest that is asked for is a page of nodes, of 25 kB and 120 objects each.
const (
	maxAnswer        = 16 << 20
	maxAnswerObjects = 100_000
)

// nodePage is how many nodes are asked for at once, and maxPages how many times.
const (
	nodePage = 200
	maxPages = 100
)

var errAnswer = fmt.Errorf("the answer has more than %d MiB or %d objects, more than any that tare needs; check what listens at that address", maxAnswer>>20, maxAnswerObjects)

// answerLimit bounds the time from a request to the end of its answer. After a late answer hurriedLimit does, until one
// comes: what is left to do is often only to clean up.
const (
	answerLimit  = 30 * time.Second
	hurriedLimit = 5 * time.Second
)

// silentError is that of a request whose answer was not complete in time.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string { return fmt.Sprintf("no complete answer within %s", e.after) }

// withAnswerTimeout calls ask, which sends a request, with a limit on its time.
func (c *client) withAnswerTimeout(ctx context.Context, ask func(context.Context) error) error {
	limit := cmp.Or(c.answerLimit, answerLimit)
	if c.late.Load() {
		limit = min(limit, hurriedLimit)
	}
	silent := &silentError{timelimit.Scaled(limit)}
	within, cancel := context.WithTimeoutCause(ctx, silent.after, silent)
	defer cancel()
	err := ask(within)
	if late := errors.Is(context.Cause(within), silent); late || !isAway(err) {
		c.late.Store(late)
	}
	switch {
	case errors.Is(err, errAnswer):
		return errAnswer
	case err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), silent):
		return silent
	}
	return err
}

// boundAnswers limits the answers to requests of a configuration; not to be used for exec streams.
func boundAnswers(config *rest.Config) *rest.Config {
	bounded := rest.CopyConfig(config)
	bounded.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundedAnswers{next} })
	return bounded
}

type boundedAnswers struct{ next http.RoundTripper }

func (b boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{ReadCloser: answer.Body}
	}
	return answer, err
}

// boundedBody fails once an answer, after decompression, is above the limits.
type boundedBody struct {
	io.ReadCloser
	bytes, objects int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	b.objects += bytes.Count(p[:n], []byte("{"))
	if b.bytes > maxAnswer || b.objects > maxAnswerObjects {
		return 0, errAnswer
	}
	return n, err
}
