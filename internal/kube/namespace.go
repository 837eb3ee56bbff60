package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/kube/api"
	"tare/internal/runid"
	"tare/internal/timelimit"
)

// The labels of everything that a run creates, in the names that objects of Docker have.
const (
	LabelRun     = "io.tare.run"
	LabelPart    = "io.tare.part"
	LabelMachine = "io.tare.machine" // that controls the run
	LabelUser    = "io.tare.user"    // whose run it is, by number
)

// PodSecurity is a level of the Pod Security Standards.
type PodSecurity string

// The levels that a run uses: pods that only have a network of their own need nothing beyond
// Restricted; the host network needs Privileged.
const (
	Restricted PodSecurity = "restricted"
	Privileged PodSecurity = "privileged"
)

func labels(run, part string) map[string]string {
	return map[string]string{LabelRun: run, LabelPart: part, LabelMachine: runid.MachineID(), LabelUser: strconv.Itoa(os.Getuid())}
}

// IsNamespace reports whether a name has the form of a namespace's: a DNS label.
func IsNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// CreateNamespace creates a namespace of a run that enforces a level of Pod Security.
func (c *Cluster) CreateNamespace(ctx context.Context, run, name string, level PodSecurity) error {
	n := api.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: levelLabels(labels(run, "namespace"), level)}}
	return c.fail(c.post(ctx, core+"/namespaces", n, nil), "create namespace %s", name)
}

// readyInterval is the time between two looks at what the cluster is to bring about.
const readyInterval = 50 * time.Millisecond

// poll calls look until it reports the end, fails, or the time is over.
func poll(ctx context.Context, wait time.Duration, late error, look func() (bool, error)) error {
	return pollEvery(ctx, readyInterval, wait, late, look)
}

// pollEvery is poll for what may take so long that the API server would be asked too often.
func pollEvery(ctx context.Context, interval, wait time.Duration, late error, look func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, late)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		done, err := look()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// accountTimeout bounds the wait for a new namespace's service account, without which no pod
// may be created in it.
func accountTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// AwaitAccount waits until a new namespace has its default service account.
func (c *Cluster) AwaitAccount(ctx context.Context, namespace string) error {
	return poll(ctx, accountTimeout(), fmt.Errorf("namespace %s on cluster %s got no service account within %s; check kube-controller-manager", namespace, c.Context, accountTimeout()), func() (bool, error) {
		err := c.get(ctx, in(core, namespace, "serviceaccounts", "default"), nil, nil)
		if isNotFound(err) {
			return false, nil
		}
		return err == nil, c.fail(err, "look for the service account of namespace %s", namespace)
	})
}

// removeTimeout bounds how long namespaces may take to be removed with their content. On a cluster where they once took
// longer it is shorter: every mode that fails waits for its own.
func (c *Cluster) removeTimeout() time.Duration {
	if c.stuck.Load() {
		return timelimit.Scaled(10 * time.Second)
	}
	return timelimit.Scaled(60 * time.Second)
}

// RemoveNamespaces removes namespaces with their content and waits until they are gone. It gives up at once if the API
// server does not answer.
func (c *Cluster) RemoveNamespaces(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		// The namespace first: from then on nothing can be created in it, and its controller waits
		// 5 s before it removes what is in it. The pods do not wait for that.
		err := c.remove(ctx, core+"/namespaces/"+name)
		errs = append(errs, c.fail(err, "remove namespace %s", name))
		if isAway(err) {
			return errors.Join(errs...)
		}
		err = c.removeAll(ctx, core, name, "pods", "")
		errs = append(errs, c.fail(err, "remove the pods of namespace %s", name))
	}
	limit := c.removeTimeout()
	deadline := time.Now().Add(limit)
	for _, name := range names {
		late := fmt.Errorf("namespace %s on cluster %s still exists %s after it was removed; kubectl get namespace %s -o yaml says what holds it", name, c.Context, limit, name)
		err := poll(ctx, max(time.Until(deadline), readyInterval), late, func() (bool, error) {
			err := c.get(ctx, core+"/namespaces/"+name, nil, nil)
			if isNotFound(err) {
				return true, nil
			}
			return false, c.fail(err, "look for namespace %s", name)
		})
		if errors.Is(err, late) {
			c.stuck.Store(true)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeAll deletes all objects of a resource, or those that a label selector matches.
func (c *Cluster) removeAll(ctx context.Context, group, namespace, resource, selector string) error {
	zero := int64(0)
	query := url.Values{}
	if selector != "" {
		query.Set("labelSelector", selector)
	}
	err := c.do(ctx, "DELETE", in(group, namespace, resource), query, metav1.DeleteOptions{GracePeriodSeconds: &zero}, nil)
	if isNotFound(err) {
		return nil
	}
	return err
}

// kind is a kind of objects that a run creates in a namespace.
type kind struct {
	group, resource string
	one             string // in messages
}

// kinds returns the kinds of objects that runs create in namespaces, in the order in which they are
// removed.
func kinds() []kind {
	return []kind{{core, "pods", "pod"}, {core, "services", "service"}, {networking, "networkpolicies", "network policy"}, {discoveryV, "endpointslices", "endpoint slice"},
		{networking, "ingresses", "ingress"}, {gatewayV, "httproutes", "HTTP route"}}
}

// RemoveRun removes what this client has created for a run in a namespace, which stays.
func (c *Cluster) RemoveRun(ctx context.Context, namespace, run string) error {
	var errs []error
	for _, k := range kinds() {
		if _, made := c.created.Load(in(k.group, namespace, k.resource)); !made {
			continue
		}
		names, err := c.labelled(ctx, namespace, k, LabelRun+"="+run)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, o := range names {
			errs = append(errs, c.removeOne(ctx, namespace, k, o.Name))
		}
	}
	return errors.Join(errs...)
}

// labelled lists the objects of a kind that a label selector matches.
func (c *Cluster) labelled(ctx context.Context, namespace string, k kind, selector string) ([]metav1.ObjectMeta, error) {
	var list metav1.PartialObjectMetadataList
	err := c.get(ctx, in(k.group, namespace, k.resource), url.Values{"labelSelector": {selector}}, &list)
	var out []metav1.ObjectMeta
	for _, o := range list.Items {
		out = append(out, o.ObjectMeta)
	}
	return out, c.fail(err, "list the %s of namespace %s", k.resource, namespace)
}

func (c *Cluster) removeOne(ctx context.Context, namespace string, k kind, name string) error {
	return c.fail(c.remove(ctx, in(k.group, namespace, k.resource, name)), "remove %s %s in namespace %s", k.one, name, namespace)
}

// Leftover is a namespace of a dead run, or an object of one in another namespace.
type Leftover struct {
	Run   string
	What  string // for people
	Owner int    // the user whose run made it, or runid.UnknownUser
	// Remove removes it. It is no error if it is already gone.
	Remove func(context.Context) error
}

// Leftovers returns the namespaces of dead runs of this machine. alive are the runs that are not
// dead; objects of other machines are ignored.
func (c *Cluster) Leftovers(ctx context.Context, alive runid.Claims) ([]Leftover, error) {
	var list api.NamespaceList
	if err := c.get(ctx, core+"/namespaces", url.Values{"labelSelector": {LabelRun}}, &list); err != nil {
		return nil, c.fail(err, "list namespaces")
	}
	var out []Leftover
	for _, n := range list.Items {
		if run, owner, dead := deadRun(n.Labels, alive); dead {
			out = append(out, Leftover{run, fmt.Sprintf("namespace %s on cluster %s", n.Name, c.Context), owner, func(ctx context.Context) error {
				return c.RemoveNamespaces(ctx, n.Name)
			}})
		}
	}
	return out, nil
}

// LeftoversIn returns the objects of dead runs of this machine in a namespace that is not theirs.
// A user who may not list a kind of objects could not create any, nor one on a cluster without the kind; only pods must be listed.
func (c *Cluster) LeftoversIn(ctx context.Context, namespace string, alive runid.Claims) ([]Leftover, error) {
	var out []Leftover
	for _, k := range kinds() {
		objects, err := c.labelled(ctx, namespace, k, LabelRun)
		if k.resource != "pods" && (errors.Is(err, ErrForbidden) || isNotFound(err)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if run, owner, dead := deadRun(o.Labels, alive); dead {
				what := fmt.Sprintf("%s %s in namespace %s on cluster %s", k.one, o.Name, namespace, c.Context)
				out = append(out, Leftover{run, what, owner, func(ctx context.Context) error { return c.removeOne(ctx, namespace, k, o.Name) }})
			}
		}
	}
	return out, nil
}

// deadRun returns the run to whose object labels belong, and its user. dead is false if the run is
// alive or of another machine.
func deadRun(l map[string]string, alive runid.Claims) (run string, owner int, dead bool) {
	run, owner = l[LabelRun], runid.UnknownUser
	if user, err := strconv.ParseUint(l[LabelUser], 10, 32); err == nil {
		owner = int(user)
	}
	return run, owner, runid.IsID(run) && l[LabelMachine] == runid.MachineID() && !alive.Hold(run, owner)
}
