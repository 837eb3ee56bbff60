package browser

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// wrote is a study as a run writes it down when it begins.
const wrote = `name: watched
profile: quick
seed: 1
modes: [host, netns/bridge]
workloads: [tcp_stream]
`

// testWatch watches a run that is written trial by trial, as a runner does: each trial
// is on the page without the page being loaded again; the end brings the report.
func testWatch(t *testing.T, b browser) {
	top := t.TempDir()
	d := must.Get(store.Create(filepath.Join(top, "now")))(t)
	t.Cleanup(func() { d.Close() })
	must.Do(t, d.WriteStudy([]byte(wrote)))
	seq := 0
	add := func(mode string, goodput float64) {
		t.Helper()
		seq++
		must.Do(t, d.Append(result.Trial{Schema: result.TrialSchema, Seq: seq, Block: 1 + (seq-1)/2, Mode: mode, Workload: "tcp_stream",
			Attempt: 1, Status: result.TrialOK, Metrics: map[string]float64{"goodput": goodput}}))
	}
	p := b.tab(t)
	home := p.enter(serve(t, top))
	p.open(home + "run/now")
	p.until("it says that there is nothing yet", "document.body.innerText.includes('0 ok')")
	eval[any](p, "window.same = true; null")
	add("host", 9e9)
	p.until("the first trial is there", "document.body.innerText.includes('1 ok') && document.body.innerText.includes('9.00 Gbit/s')")
	add("netns/bridge", 4.5e9)
	p.until("the second trial is there", "document.body.innerText.includes('2 ok') && document.body.innerText.includes('4.50 Gbit/s')")
	add("host", 9.1e9)
	add("netns/bridge", 4.6e9)
	p.until("a ratio is there", "document.body.innerText.includes('4 ok') && document.body.innerText.includes('0.5')")
	if !eval[bool](p, "window.same === true") {
		t.Error("the page was loaded again")
	}
	p.sound(home+"run/now", home+"events/now")
	must.Do(t, d.Close())
	p.until("the end brings the report", "!window.same && document.readyState === 'complete' && document.querySelectorAll('figure').length > 0")
	p.clean(home+"run/now", home+"events/now")

	// A run whose directory goes away while it is watched.
	d = must.Get(store.Create(filepath.Join(top, "lost")))(t)
	t.Cleanup(func() { d.Close() })
	p.open(home + "run/lost")
	p.until("it is watched", "document.getElementById('state').innerText === 'under way'")
	must.Do(t, os.RemoveAll(d.Path()))
	p.until("the page says that it is gone", "document.body.innerText.includes('run lost does not exist')")
}
