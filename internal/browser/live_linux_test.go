package browser

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// long is a study that would go on for minutes; the test ends it when it has seen enough.
const long = `name: watched
blocks: 200
settle: 10ms
modes: [host, netns/bridge]
invalid: {steal: off, others: off, cpu_wait: off, unsettled: off}
evidence: {counters: off, stacks: off, drops: off}
workloads:
  - {workload: tcp_rr, warmup: 20ms, duration: 200ms}
`

// testLive watches a real run on the lab until there are trials of it on the page, ends
// it as Ctrl-C does, and sees its report come by itself.
func testLive(t *testing.T, b browser) {
	if err := linuxnet.Try(); err != nil {
		if said, none := exec.Command("unshare", "-Urn", "true").CombinedOutput(); none != nil {
			testneed.Missing(t, testneed.Labs, fmt.Sprintf("%v (unshare: %v: %s)", err, none, bytes.TrimSpace(said)))
		}
	}
	top := t.TempDir()
	study, dir := filepath.Join(top, "long.yaml"), filepath.Join(top, "runs", "now")
	must.Do(t, os.WriteFile(study, []byte(long), 0o600))
	must.Do(t, os.Mkdir(filepath.Dir(dir), 0o700))
	var told bytes.Buffer
	run := exec.Command("/proc/self/exe", "run", study, "--out", dir)
	run.Args[0] = "tare"
	run.Stderr = &told
	must.Do(t, run.Start())
	ended := make(chan struct{})
	go func() { _ = run.Wait(); close(ended) }() // its exit code says the rest
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGINT) // it may have ended
		<-ended
		if t.Failed() {
			t.Logf("the run said:\n%s", told.String())
		}
	})

	p := b.tab(t)
	home := p.enter(serve(t, filepath.Dir(dir)))
	p.open(home)
	for !store.IsLocked(dir) {
		select {
		case <-ended:
			t.Fatalf("the run ended with %d", run.ProcessState.ExitCode())
		case <-time.After(10 * time.Millisecond):
		}
	}
	p.open(home)
	p.until("the list says that it is under way", "document.querySelector('td.now') !== null")
	p.open(home + "run/now")
	eval[any](p, "window.same = true; null")
	ok := `Number((document.body.innerText.match(/Trials: (\d+) ok/) || [0, 0])[1])`
	p.until("it has a trial", ok+" > 0")
	before := eval[int](p, ok)
	p.until("it has more", fmt.Sprintf("%s > %d && window.same", ok, before))
	must.Do(t, run.Process.Signal(syscall.SIGINT))
	<-ended
	must.EqualFor(t, "exit code", 130, run.ProcessState.ExitCode())
	p.until("its report comes by itself", "!window.same && document.readyState === 'complete' && document.querySelectorAll('figure').length > 0")
	p.clean(home, home+"run/now", home+"events/now")
}
