package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

// controller checks a run through an ingress controller, and what is said of one that there is not.
func (k *onKube) controller(t *testing.T) {
	k.c.StartTraefik(t)
	const mode = "k8s/ingress:" + kubetest.IngressClass
	dir := studyIn(t, "blocks: 2\npilot: 0s\nsettle: 10ms\nmodes: ["+mode+"]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off}\n"+
		"workloads: [{workload: http, flows: 4, duration: 500ms}, {workload: tcp_rr, duration: 200ms}]\n")
	none := start(t, dir, "run", "study.yaml", "--kube", "--modes", "k8s/ingress:none")
	must.Equal(t, 3, none.wait(t))
	must.Contain(t, none.stderr.String(), "k8s/ingress:none is unsupported: cluster admin has no IngressClass none; it has "+kubetest.IngressClass)
	plan := start(t, dir, "plan", "study.yaml", "--kube")
	must.Equal(t, 0, plan.wait(t))
	must.Contain(t, plan.stdout.String(), "routes: an Ingress or HTTPRoute for each mode through a controller")
	out := filepath.Join(dir, "run")
	p := start(t, dir, "run", "study.yaml", "--out", out, "--kube")
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	run, trials := loaded(t, out)
	noneFailed(t, trials)
	for _, w := range run.Warnings {
		must.True(t, w.Code != string(warning.BaselineMissing), "%s: %s", w.Scope, w.Text)
		t.Logf("%s %s: %s", w.Code, w.Scope, w.Text)
	}
	must.Equal(t, 2, len(run.Modes))
	for _, m := range run.Modes {
		must.Require(t, m.Status == result.ModeMeasured && m.Proof != nil && m.Proof.Holds, "%s is %s: %s, proof %+v", m.ID, m.Status, m.Reason, m.Proof)
	}
	requests := 0
	for _, tr := range trials {
		if tr.Mode == mode && strings.HasPrefix(tr.Workload, "http") && tr.Status == result.TrialOK {
			requests++
		}
		must.True(t, tr.Mode != mode || !strings.HasPrefix(tr.Workload, "tcp_rr"), "a trial of %s through a controller", tr.Workload)
	}
	must.True(t, requests >= 2, "%d trials of http through the controller", requests)
	t.Log(p.stdout.String())
	if left := k.namespaces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
