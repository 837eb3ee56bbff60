package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// conflist is a network of CNI on a bridge with an MTU.
func conflist(mtu int) string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "mine", "plugins": [{"type": "bridge", "isGateway": true, "mtu": %d, "capabilities": {"ipRanges": true},
 "ipam": {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}]}}]}`, mtu)
}

// A configuration of CNI that was edited between two sessions is another experiment: the run is refused before its next trial and stays
// as it was, and with --force the mode is measured again.
func TestEnginesResumeWithOtherConflist(t *testing.T) {
	needRoot(t)
	t.Setenv("CNI_PATH", drivertest.NeedCNI(t, "current"))
	dir := studyIn(t, `name: edited
blocks: 2
settle: 10ms
modes: [host, {id: mine, mode: "cni/network:mine"}]
invalid: {steal: off, others: off, cpu_wait: off, unsettled: off, most: off}
workloads:
  - {workload: tcp_rr, transaction_rate: 500, warmup: 10ms, duration: 1s, slice: 1h}
`)
	t.Setenv("NETCONFPATH", dir)
	file, out := filepath.Join(dir, "mine.conflist"), filepath.Join(dir, "run")
	edit := func(mtu int) { must.Do(t, os.WriteFile(file, []byte(conflist(mtu)), 0o600)) }
	edit(1500)
	start(t, dir, "run", "study.yaml", "--out", out).ends(t, 0)
	edited(t, out, store.StudyFile, "blocks: 2\n", "blocks: 3\n")
	before := must.Get(os.ReadFile(filepath.Join(out, store.SessionsFile)))(t)

	edit(1400)
	p := start(t, dir, "run", "--resume", out)
	p.ends(t, 2)
	must.Contain(t, p.stderr.String(), "resume "+out+": 2 of its trials are of another experiment: facts of mode mine: CNI configuration of host a was "+file+", SHA-256 ", " in trials ", "--force")
	run, _ := loaded(t, out)
	must.True(t, trialsIn(out) == 4 && run.Apart == nil && run.Trials.OK == 4, "%d trials, %+v, apart %+v", trialsIn(out), run.Trials, run.Apart)
	must.Equal(t, string(before), string(must.Get(os.ReadFile(filepath.Join(out, store.SessionsFile)))(t)))

	start(t, dir, "run", "--resume", out, "--force").ends(t, 0)
	run, _ = loaded(t, out)
	must.Require(t, run.Apart != nil && run.Apart.Trials == result.Tally{OK: 2} && run.Trials.OK == 6, "%+v, apart %+v", run.Trials, run.Apart)
	start(t, dir, "run", "--resume", out).ends(t, 0) // as it is now
	must.Equal(t, 8, trialsIn(out))
}
