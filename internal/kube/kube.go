// Package kube is a client of a Kubernetes cluster with the access of its user: it finds the
// cluster as kubectl does, creates namespaces, pods and services that belong to a run, starts
// this program in pods over exec streams, and removes all of it.
package kube

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
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
	Server string // its address
	Image  string // of the pods
	inject bool
	stuck  *atomic.Bool // a namespace was not removed in time
	client
}

// DryRun returns the cluster for attempts: it says whether it would create something, and does not.
func (c *Cluster) DryRun() *Cluster {
	attempts := *c
	attempts.dryRun, attempts.created = true, &sync.Map{}
	return &attempts
}

// IsDryRun reports whether nothing is created.
func (c *Cluster) IsDryRun() bool { return c.dryRun }

// Injects reports whether this program is copied into pods after they have started.
func (c *Cluster) Injects() bool { return c.inject }

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
	c := &Cluster{Image: o.Image, inject: o.Inject, stuck: new(atomic.Bool), client: client{Context: o.Context, answerLimit: o.answerLimit, late: new(atomic.Bool), created: &sync.Map{}}}
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
	gatewayV   = "/apis/gateway.networking.k8s.io/v1"
	authn      = "/apis/authentication.k8s.io/v1"
	authz      = "/apis/authorization.k8s.io/v1"
	nodeV      = "/apis/node.k8s.io/v1"
)

// in returns the path of objects, or of one, in a namespace.
func in(group, namespace, resource string, name ...string) string {
	return path.Join(append([]string{group, "namespaces", namespace, resource}, name...)...)
}
