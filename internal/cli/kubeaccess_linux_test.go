package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/studies"
)

// as runs tare as a user of a cluster to its end, and returns its exit code.
func as(t *testing.T, kubeconfig, stdin, dir string, args ...string) (p *program, code int) {
	t.Helper()
	p = prepared(dir, args...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	p.cmd.Stdin = strings.NewReader(stdin)
	p.begin(t)
	return p, p.wait(t)
}

// checkRoles runs the whole built-in study as a user who has exactly the rights that doctor prints,
// then takes one away.
func checkRoles(t *testing.T, c *kubetest.Cluster) {
	dir := studyIn(t, accessStudy("k8s/hostnet, k8s/hostnet-local, k8s/pod, k8s/pod-local, k8s/service, k8s/nodeport"))
	src, _ := studies.Builtin("k8s")
	for _, mode := range strings.Fields("k8s/hostnet k8s/hostnet-local k8s/pod k8s/pod-local k8s/service k8s/nodeport") {
		must.Require(t, strings.Contains(string(src), "- "+mode+"\n") && strings.Count(string(src), "\n  - k8s/") == 6 && studyfile.NameOf(src) == "k8s",
			"the built-in study has other modes: %s", src)
	}
	p, code := as(t, c.Stranger, "", dir, "doctor", "--kube")
	if text := p.stdout.String() + p.stderr.String(); code != 3 || !strings.Contains(text, "0 of ") || !strings.Contains(text, `cannot list resource "nodes"`) || !strings.Contains(text, "create namespaces ") {
		t.Errorf("doctor of a stranger: exit code %d\n%s", code, text)
	}
	p, code = as(t, c.Stranger, "", dir, "doctor", "--kube", "--roles", "--modes", "k8s/hostnet,k8s/hostnet-local,k8s/pod,k8s/pod-local,k8s/service,k8s/nodeport")
	if code != 0 || strings.Count(p.stdout.String(), "kind: ClusterRole\n") != 2 { // of the role, and in its binding
		t.Fatalf("roles: exit code %d\n%s%s", code, p.stdout.String(), p.stderr.String())
	}
	c.Kubectl(t, p.stdout.String(), "apply", "-f", "-")
	defer c.Kubectl(t, p.stdout.String(), "delete", "-f", "-")
	var d struct {
		Ready  bool
		Rights []struct {
			Right             string
			Allowed, Optional bool
		}
		Modes []struct{ Mode, Status, Reason string }
	}
	diagnose := func() {
		t.Helper()
		p, _ := as(t, c.Stranger, "", dir, "doctor", "--kube", "--json", "--modes", "k8s/pod,k8s/service")
		if err := json.Unmarshal(p.stdout.Bytes(), &d); err != nil {
			t.Fatalf("%v: %s%s", err, p.stdout.String(), p.stderr.String())
		}
	}
	until(t, "the rights", func() bool {
		diagnose()
		return !slices.ContainsFunc(d.Rights, func(r struct {
			Right             string
			Allowed, Optional bool
		}) bool {
			return !r.Allowed
		})
	})
	must.True(t, d.Ready && len(d.Modes) == 2 && d.Modes[0].Status == "ok" && d.Modes[1].Status == "ok", "doctor: %+v", d)
	out := filepath.Join(dir, "exact")
	if p, code := as(t, c.Stranger, "", dir, "run", "study.yaml", "--kube", "--out", out); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.stderr.String())
	}
	proven(t, out, 6)
	// One right less: doctor leaves its modes out, with what is missing.
	rest := strings.Replace(p.stdout.String(), "  - services\n  verbs:\n  - create\n", "  - services\n  verbs:\n", 1)
	must.Require(t, rest != p.stdout.String(), "no right to create services in\n%s", rest)
	c.Kubectl(t, rest, "apply", "-f", "-")
	until(t, "the loss of a right", func() bool {
		diagnose()
		return d.Modes[1].Status != "ok"
	})
	if m := d.Modes[1]; d.Modes[0].Status != "ok" || m.Status != "left out" || !strings.HasPrefix(m.Reason, "the user may not create services in all namespaces") {
		t.Errorf("doctor with one right less: %+v", d.Modes)
	}
}

// accessStudy is a study of modes that takes seconds.
func accessStudy(modes string) string {
	return "name: access\nblocks: 2\npilot: 0s\nsettle: 10ms\nmodes: [" + modes + "]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\n" +
		"workloads: [{workload: tcp_rr, congestion_control: reno, duration: 200ms}]\n"
}

// proven fails unless a run has so many modes, all measured over a proven path.
func proven(t *testing.T, dir string, modes int) {
	t.Helper()
	run, _ := loaded(t, dir)
	must.Equal(t, modes, len(run.Modes))
	for _, m := range run.Modes {
		must.True(t, m.Status == result.ModeMeasured && m.Proof != nil && m.Proof.Holds, "%s is %s: %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
	}
}

// checkJob lets the cluster run a study by itself, and reads the results from the log. The user who
// does so may neither exec nor create pods.
func checkJob(t *testing.T, c *kubetest.Cluster) {
	dir := studyIn(t, accessStudy("k8s/hostnet, k8s/service"))
	p, code := as(t, c.Stranger, "", dir, "k8s", "manifest", "study.yaml", "--seed", "7")
	must.Require(t, code == 0, "exit code %d\n%s", code, p.stderr.String())
	job := p.stdout.String()
	c.Kubectl(t, job, "apply", "-f", "-")
	gone := false
	defer func() {
		if !gone {
			c.Kubectl(t, job, "delete", "-f", "-")
		}
	}()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if c.Kubectl(t, "", "get", "job", kube.JobName, "-n", kube.JobName, "-o", "jsonpath={.status.succeeded}{.status.failed}") != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Job does not end: %s", c.Kubectl(t, "", "describe", "pods", "-n", kube.JobName))
		}
	}
	log := c.Kubectl(t, "", "logs", "-n", kube.JobName, "job/"+kube.JobName)
	out := filepath.Join(dir, "imported")
	p, code = as(t, c.Stranger, log, dir, "report", "-", "--out", out)
	must.Require(t, code == 0 && strings.Contains(p.stdout.String(), "k8s/service"), "report of the log: exit code %d\n%s%s\n%s", code, p.stdout.String(), p.stderr.String(), log)
	proven(t, out, 2)
	if run, trials := loaded(t, out); run.Seed != 7 || len(trials) < 4 || run.Hosts[0].Name != "a" {
		t.Errorf("seed %d, %d trials", run.Seed, len(trials))
	}
	must.Get(os.Stat(filepath.Join(out, "report.html")))(t)
	if left := c.Kubectl(t, "", "get", "pods,services,networkpolicies", "-n", kube.JobName, "-o", "name", "-l", kube.LabelRun); strings.Contains(left, "/") {
		t.Errorf("left by the run: %s", left)
	}
	c.Kubectl(t, job, "delete", "-f", "-")
	gone = true
	if left := c.Kubectl(t, "", "get", "clusterroles,clusterrolebindings,namespaces", "-o", "name"); strings.Contains(left, "/tare") {
		t.Errorf("left by the manifest: %s", left)
	}
	// A text without a run is an error of usage.
	if p, code := as(t, c.Stranger, "Error from server\n", dir, "report", "-"); code != 2 || !strings.Contains(p.stderr.String(), "it contains no run") {
		t.Errorf("report of another text: exit code %d\n%s", code, p.stderr.String())
	}
}

// checkKilledIn kills a run in an existing namespace. gc removes what it left there.
func checkKilledIn(t *testing.T, c *kubetest.Cluster) {
	const space = "bench"
	c.Kubectl(t, "", "create", "namespace", space)
	defer c.Kubectl(t, "", "delete", "namespace", space, "--wait=false")
	dir := studyIn(t, accessStudy("k8s/hostnet, k8s/pod"))
	killed := start(t, dir, "run", "study.yaml", "--kube", "-n", space, "--out", filepath.Join(dir, "killed"))
	pods := func() string {
		return c.Kubectl(t, "", "get", "pods", "-n", space, "-o", "name", "-l", kube.LabelRun)
	}
	until(t, "a pod of the run", func() bool { return strings.Contains(pods(), "pod/tare-") })
	must.Do(t, killed.cmd.Process.Kill())
	killed.wait(t)
	p, code := as(t, c.Admin, "", dir, "gc", "--kube", "--namespace", space)
	must.True(t, code == 0 && strings.Contains(p.stdout.String(), "removed pod tare-") && strings.Contains(p.stdout.String(), "in namespace "+space),
		"gc: exit code %d\n%s%s", code, p.stdout.String(), p.stderr.String())
	if left := pods(); strings.Contains(left, "pod/") {
		t.Errorf("left after gc: %s", left)
	}
	must.Contain(t, c.Kubectl(t, "", "get", "namespace", space, "-o", "name"), space)
}

// checkKubectl calls the program through the real kubectl, as its plugin.
func checkKubectl(t *testing.T, c *kubetest.Cluster) {
	if list := c.Kubectl(t, "", "plugin", "list"); !strings.Contains(list, "/kubectl-tare") {
		t.Fatalf("kubectl does not find the plugin: %s", list)
	}
	help := c.Kubectl(t, "", "tare", "run", "--help")
	must.True(t, strings.Contains(help, "\n  kubectl tare run\n") && strings.Contains(help, "--context") && !strings.Contains(help, "  tare run"), "help: %s", help)
	// The cluster is implied, and kubectl's flags choose another one, and a namespace.
	text := c.Kubectl(t, "", "tare", "doctor", "--modes", "k8s/pod")
	must.True(t, strings.Contains(text, "user        admin") && strings.Count(text, "  CNI ") == 2 && strings.Contains(text, "1 of 1 modes would be measured"), "doctor: %s", text)
	text = c.Kubectl(t, "", "tare", "doctor", "--kubeconfig", c.Stranger, "--context", "stranger", "-n", "default", "--modes", "k8s/pod", "--roles")
	must.ContainFor(t, "roles", text, "  name: stranger\n", "  namespace: default\n")
	text = c.Kubectl(t, "", "tare", "plan", "--no-hostnet", "-n", "default")
	must.ContainFor(t, "plan", text, "k8s/service", "in the existing namespace default", "host network: not used")
}
