package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/kube/api"
	"tare/internal/study"
	"tare/internal/timelimit"
)

// PodSpec describes a pod that holds agents of a run.
type PodSpec struct {
	Run, Part   string
	Name        string
	Namespace   string
	Node        string // on which it runs
	HostNetwork bool
	Labels      map[string]string // further ones, which services and policies select
	Limit       study.Limit
	// RuntimeClass is the name of the runtime class, empty for the cluster's default.
	RuntimeClass string
	// NoSidecars asks the injectors of service meshes to add nothing to the pod.
	NoSidecars bool
	// Network is an additional network of the pod, nil for none.
	Network *Network
	// Answer is the address at which its first process answers one request of agent.Seek, with the token; empty for none.
	Answer, Token string
}

// Pod is a running pod whose first process only waits. It starts agents as further processes.
type Pod struct {
	PodSpec
	Addresses []netip.Addr
	cluster   *Cluster
	program   string // path of this program in it
	status    string // of its networks, as their plugin reports it; empty if none does
}

// container is the name of a pod's container.
const container = "tare"

// user is the user of a pod's processes. It has no name and owns nothing.
const user = 65532

// startTimeout bounds how long a pod may take to run, with its image pulled.
func startTimeout() time.Duration { return timelimit.Scaled(2 * time.Minute) }

// Create creates a pod and does not wait for it.
func (c *Cluster) Create(ctx context.Context, spec PodSpec) error {
	_, err := c.create(ctx, spec)
	return err
}

// pod returns a pod that is not created yet.
func (c *Cluster) pod(spec PodSpec) *Pod {
	p := &Pod{PodSpec: spec, cluster: c, program: Program}
	if c.inject {
		p.program = injectedProgram
	}
	return p
}

func (c *Cluster) create(ctx context.Context, spec PodSpec) (*Pod, error) {
	p := c.pod(spec)
	if err := p.create(ctx); err != nil {
		return nil, c.fail(err, "create pod %s in namespace %s", spec.Name, spec.Namespace)
	}
	return p, nil
}

// Run creates a pod and waits until it runs. If one of that name runs already, because only the
// streams to its agents were lost, that is it. On error the pod is removed.
func (c *Cluster) Run(ctx context.Context, spec PodSpec) (*Pod, error) {
	p, err := c.create(ctx, spec)
	if err != nil {
		return nil, err
	}
	err = p.await(ctx)
	if err == nil && c.inject {
		err = p.injectProgram(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Remove(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// create creates the pod, unless one of the run already runs under its name. One that has ended is
// replaced.
func (p *Pod) create(ctx context.Context) error {
	pods, m := in(core, p.Namespace, "pods"), p.manifest(p.cluster.Image)
	err := p.cluster.post(ctx, pods, m, nil)
	if !isExisting(err) || p.ExitReason(ctx) == "" {
		return ignore(err, isExisting)
	}
	if err := p.Remove(ctx); err != nil {
		return err
	}
	return p.cluster.post(ctx, pods, m, nil)
}

// ignore returns an error unless it is of a kind.
func ignore(err error, kind func(error) bool) error {
	if kind(err) {
		return nil
	}
	return err
}

func ptr[T any](v T) *T { return &v }

// manifest returns the pod in the form of the API. It meets the Pod Security level Restricted,
// except for the host network.
func (p *Pod) manifest(image string) api.Pod {
	l, annotations := p.metadata()
	arguments := agent.PauseArguments(p.Run, p.Name)
	if p.Answer != "" {
		arguments = agent.AnsweringArguments(p.Run, p.Name, p.Answer, p.Token)
	}
	command := append([]string{p.program}, arguments...)
	mounts := []api.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
	volumes := []api.Volume{{Name: "tmp", EmptyDir: &api.EmptyDirVolumeSource{}}}
	if p.program == injectedProgram {
		command = append([]string{"/bin/sh", "-c", awaitProgram}, command...)
		mounts = append(mounts, api.VolumeMount{Name: "program", MountPath: injectedDir})
		volumes = append(volumes, api.Volume{Name: "program", EmptyDir: &api.EmptyDirVolumeSource{}})
	}
	limits := api.ResourceList{}
	if p.Limit.CPUs > 0 {
		limits[api.ResourceCPU] = *resource.NewMilliQuantity(int64(p.Limit.CPUs*1000), resource.DecimalSI)
	}
	if p.Limit.Memory > 0 {
		limits[api.ResourceMemory] = *resource.NewQuantity(int64(p.Limit.Memory), resource.BinarySI)
	}
	name, value, _ := strings.Cut(transport.Environment, "=")
	var class *string
	if p.RuntimeClass != "" {
		class = &p.RuntimeClass
	}
	return api.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: l, Annotations: annotations},
		Spec: api.PodSpec{
			RuntimeClassName: class,
			HostNetwork:      p.HostNetwork, RestartPolicy: api.RestartPolicyNever,
			// Nothing of a service account or of other services is in the pod: with 1,000
			// services, their variables alone would be too long for a program's environment.
			AutomountServiceAccountToken: ptr(false), EnableServiceLinks: ptr(false), TerminationGracePeriodSeconds: ptr(int64(0)),
			// By its name, as a DaemonSet does: a host name label may be missing, and nodeName
			// would bypass taints.
			Affinity: &api.Affinity{NodeAffinity: &api.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &api.NodeSelector{
				NodeSelectorTerms: []api.NodeSelectorTerm{{MatchFields: []api.NodeSelectorRequirement{{Key: "metadata.name", Operator: api.NodeSelectorOpIn, Values: []string{p.Node}}}}},
			}}},
			SecurityContext: restrictedPod(), Volumes: volumes,
			Containers: []api.Container{{
				Name: container, Image: image, ImagePullPolicy: api.PullIfNotPresent, Command: command, VolumeMounts: mounts,
				Env:       []api.EnvVar{{Name: name, Value: value}},
				Resources: api.ResourceRequirements{Limits: limits}, SecurityContext: restrictedContainer(),
			}},
		},
	}
}

// await waits until the pod runs and has its addresses.
func (p *Pod) await(ctx context.Context) error {
	var last api.Pod
	tick := 0
	err := poll(ctx, startTimeout(), errTooSlow, func() (bool, error) {
		var now api.Pod
		if err := p.cluster.get(ctx, in(core, p.Namespace, "pods", p.Name), nil, &now); err != nil {
			return false, p.cluster.fail(err, "look at pod %s", p.Name)
		}
		last = now
		why := p.broken(now)
		if tick++; why != "" || tick%nodeTicks == 0 {
			why = p.withNode(ctx, why)
		}
		if why != "" {
			return false, fmt.Errorf("start pod %s on node %s of cluster %s: %s", p.Name, p.Node, p.cluster.Context, why)
		}
		return now.Status.Phase == api.PodRunning && len(now.Status.PodIPs) > 0, nil
	})
	if errors.Is(err, errTooSlow) {
		return fmt.Errorf("start pod %s on node %s of cluster %s: it does not run after %s (%s)", p.Name, p.Node, p.cluster.Context, startTimeout(), cmp.Or(p.event(ctx), last.Status.Phase))
	}
	if err != nil {
		return err
	}
	for _, a := range last.Status.PodIPs {
		if addr, err := netip.ParseAddr(a.IP); err == nil {
			p.Addresses = append(p.Addresses, addr)
		}
	}
	p.status = last.Annotations[networkStatus]
	return nil
}

// nodeTicks is after how many looks at a pod that does not yet run its node is looked at, too.
const nodeTicks = 40

// withNode adds what is wrong with a pod's node to what is wrong with the pod. If nothing is wrong
// with the pod, only a node that is lost counts: a pod runs on where no other is scheduled.
func (p *Pod) withNode(ctx context.Context, why string) string {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout())
	defer cancel()
	var list api.NodeList
	if err := p.cluster.get(ctx, core+"/nodes", url.Values{"fieldSelector": {"metadata.name=" + p.Node}}, &list); err != nil {
		return why
	}
	node := Node{Blocked: "the cluster has no such node (any more)"}
	if len(list.Items) > 0 {
		node = nodeOf(list.Items[0])
	}
	if node.Blocked == "" || why == "" && node.Ready {
		return why
	}
	return strings.TrimPrefix(why+"; ", "; ") + fmt.Sprintf("node %s: %s; choose others with --nodes", p.Node, sentence(node.Blocked))
}

var errTooSlow = errors.New("it does not run in time")

// Address returns the pod's first address of a family.
func (p *Pod) Address(ipv6 bool) (netip.Addr, bool) {
	for _, a := range p.Addresses {
		if a.Is6() == ipv6 {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// broken returns why a pod will not run, or no longer runs; "" if it does or may.
func (p *Pod) broken(now api.Pod) string {
	for _, c := range now.Status.Conditions {
		if c.Type == api.PodScheduled && c.Status == api.ConditionFalse && c.Reason == api.PodReasonUnschedulable {
			return fmt.Sprintf("it is not scheduled: %s; choose other nodes with --nodes, or remove what is in the way", sentence(c.Message))
		}
	}
	for _, s := range now.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil {
			switch w.Reason {
			case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError":
				return fmt.Sprintf("the image %s is not on the node and cannot be pulled: %s; load it there (tare image save, ctr -n k8s.io images import), name another with --image, or use --inject", sentence(s.Image), sentence(w.Message))
			case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff":
				return fmt.Sprintf("%s: %s", w.Reason, sentence(w.Message))
			}
		}
		if t := s.State.Terminated; t != nil {
			switch {
			case t.Reason == "OOMKilled" && p.Limit.Memory > 0:
				return fmt.Sprintf("killed: out of memory (limit %s)", p.Limit.Memory)
			case t.Reason == "OOMKilled":
				return "killed: its node is out of memory"
			case now.Status.Reason == "":
				return strings.TrimSuffix(fmt.Sprintf("its container exited with status %d: %s", t.ExitCode, sentence(t.Message)), ": ")
			}
		}
	}
	switch {
	case now.Status.Reason == "Evicted":
		return "it was evicted: " + sentence(now.Status.Message)
	case now.Status.Phase == api.PodFailed:
		return strings.TrimSuffix(fmt.Sprintf("it failed: %s %s", sentence(now.Status.Reason), sentence(now.Status.Message)), " ")
	case now.DeletionTimestamp != nil:
		return "it was deleted"
	}
	return ""
}

// sentence returns a message of the cluster in one line of limited length, without a final dot.
func sentence(text string) string { return strings.TrimRight(shorten(text, 400), ".") }

// shorten returns a text in one line of at most longest bytes, without what is in the middle of a longer one: a message
// of the cluster begins with what failed and ends with why.
func shorten(text string, longest int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	const mark = " ... "
	if len(text) <= longest {
		return text
	}
	half := (longest - len(mark)) / 2
	return strings.ToValidUTF8(text[:half], "") + mark + strings.ToValidUTF8(text[len(text)-half:], "")
}

// event returns the last warning about the pod, or else the last event, and how long ago that was; "" if there is none.
func (p *Pod) event(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTimeout())
	defer cancel()
	last, err := p.cluster.lastEvent(ctx, p.Namespace, "Pod", p.Name, "type="+api.EventTypeWarning)
	if err == nil && last == nil {
		last, err = p.cluster.lastEvent(ctx, p.Namespace, "Pod", p.Name)
	}
	if err != nil || last == nil {
		return ""
	}
	text := says(last)
	if !last.LastTimestamp.IsZero() {
		text += fmt.Sprintf("; %s ago", max(0, time.Since(last.LastTimestamp.Time)).Round(time.Second))
	}
	return text
}

// explainTimeout bounds how long a cluster may take to say why something has ended.
func explainTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// ExitReason returns why the pod no longer runs, "" if it does.
func (p *Pod) ExitReason(ctx context.Context) string {
	var now api.Pod
	err := p.cluster.get(ctx, in(core, p.Namespace, "pods", p.Name), nil, &now)
	switch {
	case isNotFound(err):
		return p.withNode(ctx, "pod "+p.Name+" was removed")
	case err != nil:
		return ""
	}
	if why := p.withNode(ctx, p.broken(now)); why != "" {
		return "pod " + p.Name + ": " + why
	}
	return ""
}

// Remove removes the pod at once. It is no error if it is already gone.
func (p *Pod) Remove(ctx context.Context) error {
	return p.cluster.fail(p.cluster.remove(ctx, in(core, p.Namespace, "pods", p.Name)), "remove pod %s", p.Name)
}

// Name returns the name of an object of a run: tare-RUN-PART-..., in the letters that the API
// allows, of at most 63 bytes.
func Name(run string, parts ...string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.Join(append([]string{"tare", run}, parts...), "-")))
	const longest = 63
	if len(name) > longest {
		sum := strconv.FormatUint(uint64(hash(name)), 36)
		name = name[:longest-len(sum)-1] + "-" + sum
	}
	return strings.Trim(name, "-")
}

// hash returns a short number for a name.
func hash(name string) uint32 {
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return sum.Sum32()
}
