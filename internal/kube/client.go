package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"tare/internal/timelimit"
)

// client sends the requests to a cluster's API server, with the access of its user.
type client struct {
	Context string // the cluster's name in the kubeconfig, or InCluster
	Version string // of the API server, empty until it has answered

	config  *rest.Config
	rest    *rest.RESTClient
	created *sync.Map // the paths of collections in which this client has created something
	dryRun  bool
	owner   *owner // of what this client creates, nil for none

	answerLimit time.Duration // 0 for the usual
	late        *atomic.Bool  // the API server was late or away, and has not answered since
}

// patience is how long a request waits for an API server that has answered before: one that
// restarts is back within seconds, and its modes are set up again then. retryInterval is the time
// between attempts.
const retryInterval = 200 * time.Millisecond

func patience() time.Duration { return timelimit.Scaled(30 * time.Second) }

// do sends a request, and repeats it while the API server does not answer, or has too many requests. Once it has not
// answered for that long, requests are sent once until one is answered.
func (c *client) do(ctx context.Context, verb, at string, query url.Values, body, into any) error {
	began, hurried := time.Now(), c.late.Load()
	for again := false; ; again = true {
		err := c.once(ctx, verb, at, query, body, into)
		later := isAway(err) && c.Version != "" || apierrors.IsTooManyRequests(err)
		switch {
		case again && verb == "POST" && isExisting(err):
			// An attempt whose answer was lost has created it.
			return c.once(ctx, "GET", path.Join(at, nameOf(body)), nil, nil, into)
		case !later || ctx.Err() != nil || hurried:
			return err
		case time.Since(began) > patience():
			c.late.Store(true)
			return err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *client) once(ctx context.Context, verb, path string, query url.Values, body, into any) error {
	r := c.rest.Verb(verb).AbsPath(path).SetHeader("Accept", "application/json")
	for name, values := range query {
		for _, v := range values {
			r = r.Param(name, v)
		}
	}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		form := "application/json"
		if verb == "PATCH" {
			form = "application/merge-patch+json" // RFC 7396
		}
		r = r.SetHeader("Content-Type", form).Body(raw)
	}
	var answer rest.Result
	// Error, unlike Raw, reads what the server says of the error. The server is not asked again by the library,
	// which would wait for as long as the server says.
	err := c.withAnswerTimeout(ctx, func(ctx context.Context) error {
		answer = r.MaxRetries(0).Do(ctx)
		return answer.Error()
	})
	if err != nil || into == nil {
		return err
	}
	raw, err := answer.Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the answer of the API server: %w", err)
	}
	return nil
}

func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	return c.do(ctx, "GET", path, query, nil, into)
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	var query url.Values
	if c.dryRun {
		query = url.Values{"dryRun": {metav1.DryRunAll}}
	}
	c.created.Store(path, true)
	return c.do(ctx, "POST", path, query, c.owned(body), into)
}

// remove deletes an object at once. It is no error if there is none.
func (c *client) remove(ctx context.Context, path string) error {
	zero, policy := int64(0), metav1.DeletePropagationBackground
	err := c.do(ctx, "DELETE", path, nil, metav1.DeleteOptions{GracePeriodSeconds: &zero, PropagationPolicy: &policy}, nil)
	if isNotFound(err) {
		return nil
	}
	return err
}

// nameOf returns the name of an object of the API.
func nameOf(body any) string {
	var object struct{ Metadata struct{ Name string } }
	if raw, err := json.Marshal(body); err == nil {
		_ = json.Unmarshal(raw, &object) // it was encoded here
	}
	return object.Metadata.Name
}
