package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/runid"
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

// CreateNamespace creates a namespace of a run that enforces a level of Pod Security.
func (c *Cluster) CreateNamespace(ctx context.Context, run, name string, level PodSecurity) error {
	n := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(run, "namespace")}}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		n.Labels["pod-security.kubernetes.io/"+mode] = string(level)
	}
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
const accountTimeout = 15 * time.Second

// AwaitAccount waits until a new namespace has its default service account.
func (c *Cluster) AwaitAccount(ctx context.Context, namespace string) error {
	return poll(ctx, accountTimeout, fmt.Errorf("namespace %s on cluster %s got no service account within %s; check kube-controller-manager", namespace, c.Context, accountTimeout), func() (bool, error) {
		err := c.get(ctx, in(core, namespace, "serviceaccounts", "default"), nil, nil)
		if isNotFound(err) {
			return false, nil
		}
		return err == nil, c.fail(err, "look for the service account of namespace %s", namespace)
	})
}

// removeTimeout bounds how long a namespace may take to be removed with its content.
const removeTimeout = 60 * time.Second

// RemoveNamespaces removes namespaces with their content and waits until they are gone.
func (c *Cluster) RemoveNamespaces(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		// The namespace first: from then on nothing can be created in it, and its controller waits
		// 5 s before it removes what is in it. The pods do not wait for that.
		errs = append(errs, c.fail(c.remove(ctx, core+"/namespaces/"+name), "remove namespace %s", name))
		err := c.removeAll(ctx, core, name, "pods", "")
		errs = append(errs, c.fail(err, "remove the pods of namespace %s", name))
	}
	for _, name := range names {
		late := fmt.Errorf("namespace %s on cluster %s still exists %s after it was removed; kubectl get namespace %s -o yaml says what holds it", name, c.Context, removeTimeout, name)
		errs = append(errs, poll(ctx, removeTimeout, late, func() (bool, error) {
			err := c.get(ctx, core+"/namespaces/"+name, nil, nil)
			if isNotFound(err) {
				return true, nil
			}
			return false, c.fail(err, "look for namespace %s", name)
		}))
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

// Leftover is a namespace of a dead run.
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
	var list corev1.NamespaceList
	if err := c.get(ctx, core+"/namespaces", url.Values{"labelSelector": {LabelRun}}, &list); err != nil {
		return nil, c.fail(err, "list namespaces")
	}
	var out []Leftover
	for _, n := range list.Items {
		run, owner := n.Labels[LabelRun], runid.UnknownUser
		if user, err := strconv.ParseUint(n.Labels[LabelUser], 10, 32); err == nil {
			owner = int(user)
		}
		if !runid.IsID(run) || n.Labels[LabelMachine] != runid.MachineID() || alive.Hold(run, owner) {
			continue
		}
		out = append(out, Leftover{run, fmt.Sprintf("namespace %s on cluster %s", n.Name, c.Context), owner, func(ctx context.Context) error {
			return c.RemoveNamespaces(ctx, n.Name)
		}})
	}
	return out, nil
}
