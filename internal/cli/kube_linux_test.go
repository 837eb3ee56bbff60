package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// TestKubernetes runs the program on a cluster that the kubeconfig names: as its user does, killed and
// interrupted, and while the cluster fails. The last part ends the cluster's second node.
func TestKubernetes(t *testing.T) {
	needRoot(t)
	k := &onKube{c: kubetest.Start(t, kubetest.Options{})}
	t.Setenv("KUBECONFIG", k.c.Admin)
	k.refused(t)
	t.Run("roles", func(t *testing.T) { checkRoles(t, k.c) })
	t.Run("job", func(t *testing.T) { checkJob(t, k.c) })
	t.Run("namespace", func(t *testing.T) { checkKilledIn(t, k.c) })
	t.Run("kubectl", func(t *testing.T) { checkKubectl(t, k.c) })
	t.Run("controller", k.controller)
	k.ended(t)
	k.described(t)
	k.faults(t)
	k.image(t)
}

// onKube is a cluster on which the program runs.
type onKube struct{ c *kubetest.Cluster }

// namespaces returns the namespaces of runs that are on the cluster.
func (k *onKube) namespaces(t *testing.T) []string {
	t.Helper()
	return strings.Fields(k.c.Kubectl(t, "", "get", "namespaces", "-o", "name", "-l", kube.LabelRun))
}

// trialsOf counts the successful trials of a mode, and tells whether the mode has been given up.
func trialsOf(dir, mode string) (ok int, failed bool) {
	text, err := os.ReadFile(filepath.Join(dir, store.TrialsFile))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		var trial result.Trial
		switch err := json.Unmarshal(line, &trial); {
		case err != nil || trial.Mode != mode:
		case trial.Status == result.TrialOK:
			ok++
		case trial.Attempt > 1:
			failed = true
		}
	}
	return ok, failed
}

// foreignLog matches what a library would log.
var foreignLog = regexp.MustCompile(`(?m)^[IWEF][0-9]{4} `)

// refuses fails unless a program ended as one whose environment does not allow the run, with one
// line of error that has all parts.
func refuses(t *testing.T, p *program, parts ...string) {
	t.Helper()
	got, text := p.wait(t), strings.TrimSpace(p.stderr.String())
	for _, part := range parts {
		must.True(t, got == 3 && !strings.Contains(text, "\n") && strings.Contains(text, part), "exit code %d, want 3 with %q in one line:\n%s", got, part, text)
	}
}

// refused checks what cannot begin: the error is one of the environment, in one line.
func (k *onKube) refused(t *testing.T) {
	dir := studyIn(t, "modes: [k8s/pod-local]\nworkloads: [tcp_rr]\n")
	refuses(t, start(t, dir, "run", "study.yaml", "--kube=none"), `no context "none"; it has admin`)
	refuses(t, start(t, dir, "run", "study.yaml", "--kube", "--nodes", "none"), "the cluster has no node none; it has node-a, node-b")
	k.c.Kubectl(t, "", "taint", "node", kubetest.NodeB, "for=others:NoSchedule")
	refuses(t, start(t, dir, "run", "study.yaml", "--kube", "--nodes", kubetest.NodeB), "no pod can be scheduled on node node-b: it has the taint for=others:NoSchedule", "choose another")
	k.c.Kubectl(t, "", "taint", "node", kubetest.NodeB, "for-")
	stranger := prepared(dir, "run", "study.yaml", "--kube")
	stranger.cmd.Env = append(os.Environ(), "KUBECONFIG="+k.c.Stranger)
	stranger.begin(t)
	refuses(t, stranger, `cannot list resource "nodes"`, kube.ErrForbidden.Error())
}

// ended checks runs that are interrupted or killed. One that was interrupted goes on as it was
// begun, beside others that leave nothing.
func (k *onKube) ended(t *testing.T) {
	dir := studyIn(t, "blocks: 2\npilot: 0s\nsettle: 10ms\nmodes: [k8s/hostnet, k8s/pod, {mode: k8s/nodeport, id: port, options: {policy: Local}}]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\n"+
		"workloads: [{workload: tcp_rr, request_size: 32KiB, response_size: 32KiB, duration: 500ms}, {workload: tcp_stream, duration: 500ms}, {workload: udp_stream, rate: 10Mbit/s, duration: 300ms}]\n")
	out := filepath.Join(dir, "run")
	began := time.Now()
	p := start(t, dir, "run", "study.yaml", "--out", out, "--kube", "--nodes", kubetest.NodeB+","+kubetest.NodeA, "--image", k.c.Shell, "--inject", "--decoy-services", "3")
	k.c.Until(t, "trials", func() bool { return trialsIn(out) >= 2 })
	must.Do(t, p.cmd.Process.Signal(syscall.SIGINT))
	interrupted := time.Now()
	if code := p.wait(t); code != 130 || foreignLog.MatchString(p.stderr.String()) {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	t.Logf("SIGINT in a trial: ended after %.1f s", time.Since(interrupted).Seconds())
	if left := k.namespaces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	had := must.Get(os.ReadFile(filepath.Join(out, store.TrialsFile)))(t)
	p = start(t, dir, "run", "--resume", out)

	// Beside it, others end at several moments.
	name := func(moment string) string { return filepath.Join(dir, moment) }
	var killed []*program
	var before []string // the namespaces that others have
	for moment, reached := range map[string]func() bool{
		"before its namespaces": func() bool {
			_, err := os.Stat(filepath.Join(name("before its namespaces"), store.StudyFile))
			return err == nil
		},
		"in its set-up": func() bool {
			return len(slices.DeleteFunc(k.namespaces(t), func(name string) bool { return slices.Contains(before, name) })) == 2
		},
		"in a trial": func() bool { return trialsIn(name("in a trial")) > 0 },
	} {
		k.c.Until(t, "the namespaces of the resumed run", func() bool { return len(k.namespaces(t)) >= 2 })
		before = k.namespaces(t)
		one := start(t, dir, "run", "study.yaml", "--out", name(moment), "--kube", "--modes", "k8s/pod-local")
		k.c.Until(t, "a run "+moment, reached)
		must.Do(t, one.cmd.Process.Kill())
		killed = append(killed, one)
	}
	for _, one := range killed {
		one.wait(t)
	}
	term := start(t, dir, "run", "study.yaml", "--out", name("term"), "--kube", "--modes", "k8s/pod-local")
	k.c.Until(t, "its study", func() bool { _, err := os.Stat(filepath.Join(name("term"), store.StudyFile)); return err == nil })
	must.Do(t, term.cmd.Process.Signal(syscall.SIGTERM))
	interrupted = time.Now()
	if code := term.wait(t); code != 130 {
		t.Errorf("SIGTERM: exit code %d\n%s", code, term.stderr.String())
	}
	t.Logf("SIGTERM at the beginning: ended after %.1f s", time.Since(interrupted).Seconds())
	collected := start(t, dir, "gc", "--kube")
	if code := collected.wait(t); code != 0 || strings.Count(collected.stdout.String(), "removed namespace tare-") < 4 {
		t.Errorf("gc: exit code %d\n%s%s", code, collected.stdout.String(), collected.stderr.String())
	}
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	if left := k.namespaces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}

	run, trials := loaded(t, out)
	now, err := os.ReadFile(filepath.Join(out, store.TrialsFile))
	must.True(t, err == nil && bytes.HasPrefix(now, had) && len(now) != len(had), "of %d bytes of finished trials, the resumed run has %d: %v", len(had), len(now), err)
	for _, m := range run.Modes {
		must.True(t, m.Status == result.ModeMeasured && m.Proof != nil && m.Proof.Holds, "%s is %s: %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
		must.True(t, strings.Contains(fmt.Sprint(m.Facts), "{decoy services 3 "), "%s: no decoys: %v", m.ID, m.Facts)
	}
	must.Require(t, len(run.Modes) == 3 && run.Trials.OK == 20, "%d modes, %+v", len(run.Modes), run.Trials)
	t.Logf("the first trial began after %.1f s", trials[0].Started.Sub(began).Seconds())
	noneFailed(t, trials)
	checkGentle(t, p.stdout.String(), run, trials)
	nodes := map[string]string{}
	for _, h := range run.Hosts {
		for _, f := range h.Facts {
			if f.Name == "node" {
				nodes[h.Name] = f.Value
			}
		}
	}
	must.True(t, nodes["a"] == kubetest.NodeB && nodes["b"] == kubetest.NodeA, "hosts are the nodes %v", nodes)
}

// described checks what a run tells of nodes, of the pod network and of kube-proxy, and that the
// kernel stopped a pod whose CPU limit was used up. The objects are those that flannel and kubeadm
// create; no image of the DaemonSet exists, but its pods are on the nodes.
func (k *onKube) described(t *testing.T) {
	k.c.Kubectl(t, `{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-flannel"}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-flannel-cfg", "namespace": "kube-flannel"},
			"data": {"net-conf.json": "{\"Network\": \"198.18.0.0/16\", \"Backend\": {\"Type\": \"vxlan\"}}"}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-proxy", "namespace": "kube-system"},
			"data": {"config.conf": "kind: KubeProxyConfiguration\nmode: nftables\nnftables:\n  syncPeriod: 30s\n  minSyncPeriod: 1s\n"}},
		{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-flannel-ds", "namespace": "kube-flannel"}, "spec": {
			"selector": {"matchLabels": {"app": "flannel"}}, "template": {"metadata": {"labels": {"app": "flannel"}}, "spec": {"hostNetwork": true, "containers": [
				{"name": "kube-flannel", "image": "localhost/flannel:v0.28.4", "imagePullPolicy": "Never"}]}}}}]}`, "apply", "-f", "-")
	until(t, "the pods of the DaemonSet", func() bool {
		return strings.Count(k.c.Kubectl(t, "", "get", "pods", "-n", "kube-flannel", "-o", "jsonpath={.items[*].spec.nodeName}"), "node-") == 2
	})
	dir := studyIn(t, "blocks: 2\npilot: 0s\nsettle: 10ms\npace: off\nmodes: [k8s/hostnet, {mode: k8s/pod, limits: {client: {cpus: 0.1}}}]\n"+
		"invalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\nworkloads: [{workload: tcp_stream, duration: 1s}]\n")
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--out", out, "--kube")
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	run, trials := loaded(t, out)
	for _, h := range run.Hosts[:2] {
		known := map[string]string{}
		for _, f := range h.Facts {
			known[f.Name] = f.Value
		}
		for name, want := range map[string]string{
			"CNI": "flannel: localhost/flannel:v0.28.4", "flannel backend": "vxlan", "kube-proxy mode": "nftables", "kube-proxy syncPeriod": "30s", "CPU manager policy": "none",
			"link_mtu": "1500", "pods": "0 of others run on the node",
		} {
			must.True(t, known[name] == want, "host %s: %s is %q, want %q", h.Name, name, known[name], want)
		}
		must.True(t, strings.Contains(known["CPU use of others"], " CPUs before the first trial") && known["link_offloads"] != "",
			"host %s: CPU use of others %q, offloads %q", h.Name, known["CPU use of others"], known["link_offloads"])
	}
	for _, m := range run.Modes {
		must.Require(t, m.Status == result.ModeMeasured, "%s is %s: %s", m.ID, m.Status, m.Reason)
		must.True(t, m.ID != "k8s/pod" || strings.Contains(fmt.Sprint(m.Facts), "{client device eth0, MTU 1500"), "facts of %s: %v", m.ID, m.Facts)
	}
	sum := 0.0
	for _, tr := range trials {
		if tr.Status != result.TrialOK {
			continue
		}
		stopped, known := tr.Machine[result.MachineThrottled]
		if sum += stopped; !known || tr.Mode != "k8s/pod" && stopped > 0 || tr.Paces {
			t.Errorf("%s: stopped for %g s, known %t, a first trial %t", tr.Mode, stopped, known, tr.Paces)
		}
	}
	must.True(t, sum > 0, "a pod whose CPU limit was used up was not stopped")
	must.True(t, strings.Contains(fmt.Sprint(run.Warnings), "{throttled k8s/pod tcp_stream the kernel stopped ") && len(run.Paces) == 0,
		"warnings %v, paces %v", run.Warnings, run.Paces)
}

// faults breaks in turn what a run uses. Its modes are set up again, or fail with the reason; the
// others are measured to the end, and nothing is left.
func (k *onKube) faults(t *testing.T) {
	dir := studyIn(t, "blocks: 8\npilot: 0s\nsettle: 10ms\nmodes: [k8s/hostnet-local, {mode: k8s/pod-local, limits: {server: {memory: 48MiB}}}, k8s/hostnet, k8s/pod]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\n"+
		"workloads: [{workload: tcp_rr, congestion_control: reno, duration: 300ms}]\n")
	out := filepath.Join(dir, "run")
	p := prepared(dir, "run", "study.yaml", "--out", out, "--kube")
	p.cmd.Env = append(os.Environ(), timelimit.Variable+"=3") // it waits in vain for a node that is gone
	p.begin(t)
	goesOn := func(what string, modes ...string) {
		t.Helper()
		for _, m := range modes {
			had, _ := trialsOf(out, m)
			k.c.Until(t, "a trial of "+m+" after "+what, func() bool {
				ok, failed := trialsOf(out, m)
				return ok > had || failed
			})
		}
	}
	goesOn("the start", "k8s/pod")
	k.c.Restart(t, kubetest.Control, kubetest.APIServer)
	goesOn("the API server was restarted", "k8s/hostnet-local", "k8s/pod")
	space, name := k.pod(t, "k8s.pod")
	k.c.Kubectl(t, fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}}`, name, space), "create", "--raw", "/api/v1/namespaces/"+space+"/pods/"+name+"/eviction", "-f", "-")
	goesOn("an eviction", "k8s/pod")
	space, name = k.pod(t, "k8s.pod-local")
	if said, err := k.c.TryKubectl(t, "", "exec", "-n", space, name, "--", kube.Program, fillCommand); err == nil || strings.Contains(said, "no space") {
		t.Errorf("the memory of a pod was not used up: %s", said)
	}
	goesOn("an out-of-memory kill", "k8s/pod-local")
	k.c.Kubectl(t, "", "drain", kubetest.NodeB, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
	k.c.Kubectl(t, "", "delete", "node", kubetest.NodeB)
	code := p.wait(t)
	run, trials := loaded(t, out)
	want := 0
	if slices.ContainsFunc(run.Modes, func(m result.Mode) bool { return m.ID == "k8s/pod-local" && m.Status == result.ModeFailed }) {
		want = 3 // nothing is left that is compared with a baseline
	}
	must.True(t, code == want && !foreignLog.MatchString(p.stderr.String()), "exit code %d, want %d\n%s", code, want, p.stderr.String())
	for _, tr := range trials {
		if tr.Reason != "" {
			t.Logf("%s %s: %s", tr.Mode, tr.Status, tr.Reason)
		}
		must.True(t, !strings.Contains(tr.Reason, "\n"), "a reason of several lines: %q", tr.Reason)
	}
	for _, m := range run.Modes {
		ok, _ := trialsOf(out, m.ID)
		t.Logf("%s is %s after %d trials: %s %v", m.ID, m.Status, ok, m.Reason, m.Facts[len(m.Facts)-1])
		switch remote := m.ID == "k8s/pod" || m.ID == "k8s/hostnet"; {
		case remote && (m.Status != result.ModeFailed || !strings.Contains(m.Reason, "node-b: ") || strings.Contains(m.Reason, "\n")):
			t.Errorf("%s is %s: %s", m.ID, m.Status, m.Reason)
		case m.ID == "k8s/pod-local" && m.Status == result.ModeFailed && strings.Contains(m.Reason, "out of memory"):
		case !remote && (m.Status != result.ModeMeasured || ok != 8):
			t.Errorf("%s is %s after %d trials: %s", m.ID, m.Status, ok, m.Reason)
		}
	}
	if left := k.namespaces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// pod returns the namespace and the name of the server's pod of a mode.
func (k *onKube) pod(t *testing.T, mode string) (namespace, name string) {
	t.Helper()
	k.c.Until(t, "the pod of "+mode, func() bool {
		out := k.c.Kubectl(t, "", "get", "pods", "-A", "-l", "io.tare.mode="+mode+",io.tare.endpoint=server", "-o", "jsonpath={.items[*].metadata.namespace}/{.items[*].metadata.name}")
		namespace, name, _ = strings.Cut(out, "/")
		return name != "" && !strings.Contains(name, " ")
	})
	return namespace, name
}

// image checks that the image is that of the program, which is on the nodes.
func (k *onKube) image(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "tare.tar")
	p := start(t, dir, "image", "save", image)
	if code := p.wait(t); code != 0 || strings.TrimSpace(p.stdout.String()) != k.c.Image {
		t.Errorf("exit code %d, image %s, want %s\n%s", code, p.stdout.String(), k.c.Image, p.stderr.String())
	}
	if raw, err := os.ReadFile(image); err != nil || !bytes.Contains(raw, []byte(k.c.Image)) {
		t.Errorf("an image of %d bytes: %v", len(raw), err)
	}
}

// checkGentle expects that a run has chosen what every endpoint may set, and that no trial but the
// first ones offers more than half of what the path carries.
func checkGentle(t *testing.T, shown string, run result.Run, trials []result.Trial) {
	t.Helper()
	must.Require(t, run.Congestion != nil && run.Congestion.Name != "", "congestion control: %+v", run.Congestion)
	stream, datagrams := run.PaceOf("tcp_stream"), run.PaceOf("udp_stream")
	if stream == nil || stream.Mode != "k8s/hostnet" || stream.Rate != stream.Reached/2 || stream.Limited() || run.PaceOf("tcp_rr") != nil {
		t.Fatalf("paces: %+v", run.Paces)
	}
	if datagrams == nil || datagrams.Limit != 10e6 || datagrams.Rate != 10e6 && datagrams.Rate != datagrams.Reached/2 || datagrams.Reached > 20.1e6 {
		t.Errorf("pace of datagrams: %+v", datagrams)
	}
	first := 0
	for _, tr := range trials {
		must.True(t, tr.Workload == "udp_stream" || tr.Client.Congestion == run.Congestion.Name,
			"%s %s has congestion control %s, the run %s", tr.Mode, tr.Workload, tr.Client.Congestion, run.Congestion.Name)
		switch {
		case tr.Paces:
			first++
		case tr.Workload == "tcp_stream" && math.Abs(tr.Rate-stream.Rate) > 1:
			t.Errorf("%s tcp_stream offers %g bit/s; want %g", tr.Mode, tr.Rate, stream.Rate)
		}
	}
	must.Equal(t, 2, first)
	for _, want := range []string{"tcp_stream is paced at", "half of what k8s/hostnet reached in one trial of 1.0 s; --full-rate measures the limit", "goodput at "} {
		must.True(t, strings.Contains(strings.Join(strings.Fields(shown), " "), want), "no %q in\n%s", want, shown)
	}
}
