package k8s_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// tenant is a namespace that exists before the runs that use it, and stays. Its pods must meet the
// strictest level of Pod Security.
const tenant = "tenant"

// checkTenant measures as a user who has exactly the required rights in one namespace, and none of
// the whole cluster, without the host network.
func checkTenant(t *testing.T, c *kubetest.Cluster) {
	c.Kubectl(t, "", "create", "namespace", tenant)
	c.Kubectl(t, "", "label", "namespace", tenant, "pod-security.kubernetes.io/enforce=restricted")
	options := k8s.Options{
		Options: kube.Options{Kubeconfig: c.Stranger}, Namespace: tenant, NoHostNetwork: true, Nodes: []string{kubetest.NodeA, kubetest.NodeB},
	}
	absent := []string{"k8s/hostnet", "k8s/hostnet-local", "k8s/pod-to-node", "k8s/node-to-pod", "k8s/nodeport"}
	modes := []string{"k8s/pod", "k8s/pod-local", "k8s/service", "k8s/hairpin"}
	all := slices.DeleteFunc(options.Rights(modes, k8s.OptionPolicies), func(r kube.Right) bool { return r.Optional })
	grant(t, c, all)
	d := open(t, c, func(o *k8s.Options) { *o = options })
	for _, mode := range absent {
		_, err := d.Provision(t.Context(), driver.Order{Mode: mode, Run: drivertest.Claim(t).ID, Label: "absent", Pairs: 1})
		if u, ok := driver.AsUnsupported(err); !ok || !strings.Contains(u.Reason, "--no-hostnet") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			o := driver.Order{Mode: mode}
			if mode == "k8s/pod-local" {
				o.Options = map[string]string{k8s.OptionPolicies: "3"}
			}
			spec := drivertest.Spec(t, func(l *lab.Spec) { l.Label = strings.ReplaceAll(mode, "/", ".") })
			s, exact := checkMode(t, d, spec, o), false
			must.EqualFor(t, "pods on the host network", "", c.Kubectl(t, "", "get", "pods", "-A", "-l", kube.LabelRun, "-o", "jsonpath={.items[*].spec.hostNetwork}"))
			if spaces := c.Kubectl(t, "", "get", "namespaces", "-l", kube.LabelRun, "-o", "name"); strings.TrimSpace(spaces) != "" {
				t.Errorf("namespaces of the run: %s", spaces)
			}
			for _, r := range s.Path.Rules {
				at, _ := result.Of(r.Counter)
				if !strings.HasSuffix(at, "/eth0") && !strings.HasSuffix(at, "/connections") {
					t.Errorf("rule about %s, which no pod on its own network reads", r.Counter)
				}
				exact = exact || r.Expect == driver.Forward || r.Expect == driver.Both
			}
			if !exact {
				t.Errorf("no rule is exact: %v", s.Path.Rules)
			}
			if mode == "k8s/service" {
				checkWrongEndpoint(t, c, s, spec, tenant)
			}
		})
	}
	empty(t, c)
	t.Run("one right less", func(t *testing.T) { checkOneRightLess(t, c, d, all) })
	t.Run("host network refused", func(t *testing.T) { checkHostNetworkRefused(t, c, options) })
	t.Run("what a dead run left", func(t *testing.T) { checkLeftInNamespace(t, c) })
}

// grant gives the user without rights exactly these in the namespace.
func grant(t *testing.T, c *kubetest.Cluster, rights []kube.Right) {
	t.Helper()
	text := must.Get(kube.Roles(rights, tenant, kube.AccountOf("stranger")))(t)
	if strings.Contains(string(text), "ClusterRole") {
		t.Errorf("rights of the whole cluster: %s", text)
	}
	c.Kubectl(t, string(text), "apply", "-f", "-")
}

// empty fails if anything of a run is left in the namespace.
func empty(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	out := c.Kubectl(t, "", "get", "pods,services,networkpolicies,endpointslices", "-n", tenant, "-o", "name")
	if strings.TrimSpace(out) != "" && !strings.Contains(out, "No resources") {
		t.Errorf("left in the namespace: %s", out)
	}
}

// checkOneRightLess takes a right away. That is said in one line, both before a run and by it.
func checkOneRightLess(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, all []kube.Right) {
	grant(t, c, slices.DeleteFunc(slices.Clone(all), func(r kube.Right) bool { return r.Verb == "create" && r.Resource == "services" }))
	defer grant(t, c, all)
	modes := []string{"k8s/pod-local", "k8s/service-local"}
	// The API server learns of it with a delay.
	var found k8s.Checked
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found = must.Get(d.Check(t.Context(), modes, nil))(t)
		if len(found.Modes) > 0 || time.Now().After(until) {
			break
		}
	}
	if found.Run != nil || found.Modes["k8s/pod-local"] != nil {
		t.Errorf("a mode without a service is left out: %v, %v", found.Run, found.Modes)
	}
	const line = "the user may not create services in namespace tenant; ask for the role that tare doctor --kube --roles prints"
	if err := found.Modes["k8s/service-local"]; err == nil || err.Error() != line {
		t.Errorf("check: %v", err)
	}
	spec := drivertest.Spec(t, nil)
	_, err := d.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "k8s/service-local", Pairs: 1}).Order)
	must.FailLine(t, "run", err, `cannot create resource "services"`, kube.ErrForbidden.Error())
	empty(t, c)
}

// checkHostNetworkRefused asks for the host network where Pod Security or a policy of the cluster
// refuses it. The error names the flag that leaves it out.
func checkHostNetworkRefused(t *testing.T, c *kubetest.Cluster, o k8s.Options) {
	o.NoHostNetwork = false
	d := open(t, c, func(options *k8s.Options) { *options = o })
	_, err := d.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "k8s/pod-local", Pairs: 1}).Order)
	must.FailLine(t, "a namespace at the level restricted", err, "violates PodSecurity", "--no-hostnet")
	empty(t, c)
	const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-privileged}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}]}
  validations: [{expression: "!('pod-security.kubernetes.io/enforce' in object.metadata.?labels.orValue({})) || object.metadata.labels['pod-security.kubernetes.io/enforce'] != 'privileged'", message: "no privileged namespaces here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-privileged}
spec: {policyName: no-privileged, validationActions: [Deny]}
`
	c.Kubectl(t, policy, "apply", "-f", "-")
	defer c.Kubectl(t, policy, "delete", "-f", "-")
	d = open(t, c, nil)
	// The policy takes effect with a delay.
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found := must.Get(d.Check(t.Context(), []string{"k8s/pod-local"}, nil))(t)
		if found.Run != nil || time.Now().After(until) {
			must.FailFor(t, "check", found.Run, "no privileged namespaces here", "--no-hostnet")
			break
		}
	}
	_, err = d.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "k8s/pod-local", Pairs: 1}).Order)
	must.FailLine(t, "run", err, "no privileged namespaces here", "--no-hostnet")
	clean(t, c)
}

// checkLeftInNamespace removes what a dead run left in a namespace that is not its own, and nothing
// else.
func checkLeftInNamespace(t *testing.T, c *kubetest.Cluster) {
	k := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Stranger}))(t)
	run := drivertest.Claim(t).ID
	must.Do(t, k.Create(t.Context(), kube.PodSpec{Run: run, Part: "left", Name: kube.Name(run, "left"), Namespace: tenant, Node: kubetest.NodeA}))
	must.Do(t, k.CreatePolicies(t.Context(), kube.PolicySpec{Run: run, Namespace: tenant, Name: kube.Name(run, "policy"), Count: 2, Selector: map[string]string{kube.LabelRun: run}}))
	c.Kubectl(t, "", "create", "service", "clusterip", "other", "--tcp=80", "-n", tenant)
	defer c.Kubectl(t, "", "delete", "service", "other", "-n", tenant)
	left, err := k.LeftoversIn(t.Context(), tenant, nil)
	if err != nil || len(left) < 3 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, l := range left {
		if err := l.Remove(t.Context()); err != nil || l.Run != run {
			t.Errorf("%s of run %s: %v", l.What, l.Run, err)
		}
	}
	out := c.Kubectl(t, "", "get", "pods,services,networkpolicies", "-n", tenant, "-o", "name")
	must.EqualFor(t, "left in the namespace", "service/other", strings.TrimSpace(out))
}
