package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// evil is a name that would be markup, a script, a terminal's command, text turned
// around, if it were let.
func evil(name string) string {
	return name + `</style></script><img src=x onerror="window.owned=1"><script>window.owned=1</script>` +
		"'\"&amp;{{.}}\x1b[31m\x00\u202egnorw\u2066"
}

// testEvil looks at the report of a run that was not meant well: modes of every fate, and
// every string that others give is hostile. All of it stays text.
func testEvil(t *testing.T, b browser) {
	dir := filepath.Join(t.TempDir(), "run")
	recorded(t, "before", dir)
	// One word that no line can hold.
	endless := strings.Repeat("w", 10_000)
	for _, file := range []string{store.RunFile, store.TrialsFile} {
		path := filepath.Join(dir, file)
		text := must.Get(os.ReadFile(path))(t)
		name := must.Get(json.Marshal(evil("bridge") + endless))(t)
		var kept strings.Builder
		for line := range strings.Lines(strings.ReplaceAll(string(text), `"netns/bridge"`, string(name))) {
			// Half of the trials will do, and make half the page.
			if file == store.RunFile || strings.Contains(line, `"workload":"tcp_`) {
				kept.WriteString(line)
			}
		}
		must.Do(t, os.WriteFile(path, []byte(kept.String()), 0o600))
	}
	study := "title: '<script>window.owned=1</script> \u202etitle'\ndescription: '</main><img src=x onerror=window.owned=1>'\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, store.StudyFile), []byte(study), 0o600))
	d := must.Get(store.Open(dir))(t)
	run, _ := must.Get2(d.Load())(t)
	run.Cells = slices.DeleteFunc(run.Cells, func(c result.Cell) bool { return !strings.HasPrefix(c.Workload, "tcp_") })
	for _, s := range []result.ModeStatus{result.ModeVoid, result.ModeUnsupported, result.ModeFailed} {
		run.Modes = append(run.Modes, result.Mode{ID: evil("mode " + string(s)), Title: evil("title"), Baseline: "host", Status: s, Reason: evil("because " + string(s))})
	}
	run.Modes = append(run.Modes, result.Mode{ID: endless, Title: endless, Status: result.ModeFailed, Reason: endless})
	run.Warnings = append(run.Warnings, result.Warning{Code: "endless", Scope: endless, Text: endless})
	run.Warnings = append(run.Warnings, result.Warning{Code: evil("code"), Scope: evil("scope"), Text: evil("warned")})
	run.Hosts[0].Facts = append(run.Hosts[0].Facts, result.Fact{Name: evil("fact"), Value: evil("value")})
	must.Do(t, d.WriteRun(run))
	must.Do(t, d.Close())

	at := rendered(t, dir)
	p := b.tab(t)
	p.open(at)
	p.clean(at)
	p.accessible("a hostile run")
	p.narrow()
	p.fits(390)
	p.wide()
	p.printed()
	p.clean()
	if eval[bool](p, `"owned" in window || document.querySelector("img, iframe, object, embed, link, base, main script, a[href^='javascript:']") !== null`) {
		t.Error("a string of the run became part of the page")
	}
	text := p.text()
	for _, want := range []string{"because void", "because unsupported", "because failed", "warned", "<script>window.owned=1"} {
		must.Contain(t, text, want)
	}
	if strings.ContainsAny(text, "\x1b\x00\u202e\u2066") {
		t.Error("control characters came through")
	}
}
