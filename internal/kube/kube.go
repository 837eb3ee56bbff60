// Package kube is a client of a Kubernetes cluster with the access of its user: it finds the
// cluster as kubectl does, creates namespaces, pods and services that belong to a run, starts
// this program in pods over exec streams, and removes all of it.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"tare/internal/timelimit"
)

// Options say which cluster is meant and what its pods run. The zero Options are what kubectl
// would use.
type Options struct {
	Kubeconfig string // a file; empty for $KUBECONFIG, ~/.kube/config or the pod's own account
	Context    string // empty for the current one
	Image      string // of the pods; empty for OwnImage
	// Inject copies this program into pods of Image, which needs no more than a shell.
	Inject bool

	answerLimit time.Duration // shorter than answerLimit in tests
}

// Cluster is a Kubernetes cluster.
type Cluster struct {
	Context string // its name in the kubeconfig, or InCluster
	Server  string // its address
	Version string // of the API server
	Image   string // of the pods
	inject  bool

	config  *rest.Config
	rest    *rest.RESTClient
	created *sync.Map // the paths of collections in which this client has created something
	dryRun  bool
	owner   *owner // of what this client creates, nil for none

	answerLimit time.Duration // 0 for the usual
	stuck       *atomic.Bool  // a namespace was not removed in time
	late        *atomic.Bool  // the API server was late or away, and has not answered since
}

// DryRun returns the cluster for attempts: it says whether it would create something, and does not.
func (c *Cluster) DryRun() *Cluster {
	attempts := *c
	attempts.dryRun, attempts.created = true, &sync.Map{}
	return &attempts
}

// IsDryRun reports whether nothing is created.
func (c *Cluster) IsDryRun() bool { return c.dryRun }

// InCluster is the name of the context of a process that runs in a pod of the cluster.
const InCluster = "in-cluster"

// requests and burst limit the requests per second. client-go's default of 5 would let a run
// with many pods wait for itself; the server has limits of its own.
const (
	requests = 200
	burst    = 400
)

// Connect finds the cluster and asks for its version, so that an unusable one is known before
// anything is created.
func Connect(ctx context.Context, o Options) (*Cluster, error) {
	silence()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	c := &Cluster{Context: o.Context, Image: o.Image, inject: o.Inject, answerLimit: o.answerLimit, late: new(atomic.Bool), stuck: new(atomic.Bool), created: &sync.Map{}}
	if raw, err := loader.RawConfig(); err == nil && c.Context == "" {
		c.Context = raw.CurrentContext
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, loadError(rules, o, err)
	}
	if c.Context == "" {
		c.Context, c.owner = InCluster, ownPod()
	}
	c.config, c.Server = config, config.Host
	config.QPS, config.Burst = requests, burst
	config.WarningHandler = rest.NoWarnings{}
	config.NegotiatedSerializer = codecs()
	if c.rest, err = rest.UnversionedRESTClientFor(boundAnswers(config)); err != nil {
		return nil, fmt.Errorf("use the context %s of the kubeconfig: %w; check its certificates, token and proxy", c.Context, oneLine(err))
	}
	var version struct{ GitVersion string }
	if err := c.get(ctx, "/version", nil, &version); err != nil {
		return nil, c.fail(err, "ask for the version of the cluster")
	}
	c.Version = version.GitVersion
	if c.Image == "" {
		if c.Image, err = OwnImage(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// silence turns off client-go's own log, which would mix with this program's output. Without the
// threshold, errors would still go to stderr.
func silence() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		_ = flags.Set(name, value) // both are klog's own
	}
	klog.SetOutput(io.Discard)
}

// codecs decode the Status with which the API reports an error.
func codecs() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// CurrentContext is the current context of the kubeconfig; empty without one, or if it cannot be read.
func CurrentContext() string {
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil || config.Contexts[config.CurrentContext] == nil {
		return ""
	}
	return config.CurrentContext
}

// loadError says why no cluster is configured.
func loadError(rules *clientcmd.ClientConfigLoadingRules, o Options, err error) error {
	raw, broken := rules.Load()
	var names []string
	if broken == nil {
		for name := range raw.Contexts {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	switch {
	case broken != nil:
		return fmt.Errorf("read the kubeconfig: %w; correct it, or name another with KUBECONFIG", oneLine(broken))
	case o.Context != "" && !slices.Contains(names, o.Context) && len(names) > 0:
		return fmt.Errorf("the kubeconfig has no context %q; it has %s", o.Context, strings.Join(names, ", "))
	case clientcmd.IsEmptyConfig(err) && len(names) > 0:
		return fmt.Errorf("the kubeconfig has no current context; choose one of %s with --kube=CONTEXT or kubectl config use-context", strings.Join(names, ", "))
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("there is no kubeconfig (looked in %s); set KUBECONFIG to the file of your cluster", strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	return fmt.Errorf("read the kubeconfig: %w; correct it, or name another with KUBECONFIG", oneLine(err))
}

// oneLine shortens an error of several lines, as some of client-go's are, to one.
func oneLine(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// The paths of the API. A group other than core has a path of its own.
const (
	core       = "/api/v1"
	discoveryV = "/apis/discovery.k8s.io/v1"
	networking = "/apis/networking.k8s.io/v1"
	authn      = "/apis/authentication.k8s.io/v1"
	authz      = "/apis/authorization.k8s.io/v1"
	nodeV      = "/apis/node.k8s.io/v1"
)

// in returns the path of objects, or of one, in a namespace.
func in(group, namespace, resource string, name ...string) string {
	return path.Join(append([]string{group, "namespaces", namespace, resource}, name...)...)
}

// patience is how long a request waits for an API server that has answered before: one that
// restarts is back within seconds, and its modes are set up again then. retryInterval is the time
// between attempts.
const retryInterval = 200 * time.Millisecond

func patience() time.Duration { return timelimit.Scaled(30 * time.Second) }

// do sends a request, and repeats it while the API server does not answer, or has too many requests. Once it has not
// answered for that long, requests are sent once until one is answered.
func (c *Cluster) do(ctx context.Context, verb, at string, query url.Values, body, into any) error {
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

// nameOf returns the name of an object of the API.
func nameOf(body any) string {
	var object struct{ Metadata struct{ Name string } }
	if raw, err := json.Marshal(body); err == nil {
		_ = json.Unmarshal(raw, &object) // it was encoded here
	}
	return object.Metadata.Name
}

func (c *Cluster) once(ctx context.Context, verb, path string, query url.Values, body, into any) error {
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
		r = r.SetHeader("Content-Type", "application/json").Body(raw)
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

func (c *Cluster) get(ctx context.Context, path string, query url.Values, into any) error {
	return c.do(ctx, "GET", path, query, nil, into)
}

func (c *Cluster) post(ctx context.Context, path string, body, into any) error {
	var query url.Values
	if c.dryRun {
		query = url.Values{"dryRun": {metav1.DryRunAll}}
	}
	c.created.Store(path, true)
	return c.do(ctx, "POST", path, query, c.owned(body), into)
}

// remove deletes an object at once. It is no error if there is none.
func (c *Cluster) remove(ctx context.Context, path string) error {
	zero, policy := int64(0), metav1.DeletePropagationBackground
	err := c.do(ctx, "DELETE", path, nil, metav1.DeleteOptions{GracePeriodSeconds: &zero, PropagationPolicy: &policy}, nil)
	if isNotFound(err) {
		return nil
	}
	return err
}
