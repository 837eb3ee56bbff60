package view

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"tare/internal/report/text"
	"tare/internal/report/view/model"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// FuzzReport checks that a run from a stranger becomes a report in every form without a character
// that a terminal interprets, and a page without markup of its own.
func FuzzReport(f *testing.F) {
	in := reports.Sample()
	in.Run.Cells, in.Trials = in.Run.Cells[:min(4, len(in.Run.Cells))], in.Trials[:min(4, len(in.Trials))]
	run, err1 := json.Marshal(in.Run)
	trials, err2 := json.Marshal(in.Trials)
	must.Require(f, err1 == nil && err2 == nil, "%v %v", err1, err2)
	f.Add(run, trials)
	hostile := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "netns/vxlan", `\u001b]0;x\u0007\u202e<script>alert(1)</script>|`), "tcp_rr", `a\nb\u009b`)
	}
	f.Add([]byte(hostile(string(run))), []byte(hostile(string(trials))))
	f.Add([]byte(`{"modes":[{"id":"a"},{"id":"a"}],"cells":[{"mode":"a","metric":"x","ratio":-1,"ci":[5,1]},{}],"warnings":[{}]}`), []byte(`[{},{"status":"ok","metrics":{"goodput":-5}}]`))
	f.Add([]byte(`{}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, run, trials []byte) {
		var in model.Input
		if json.Unmarshal(run, &in.Run) != nil || json.Unmarshal(trials, &in.Trials) != nil || len(in.Run.Cells) > 50 || len(in.Run.Modes) > 20 || len(in.Trials) > 50 {
			return
		}
		for form, out := range map[string]string{"html": HTML(in), "md": Markdown(in), "txt": Text(in, text.Options{})} {
			if i := strings.IndexFunc(out, func(r rune) bool {
				return r != '\n' && r != '\u00ad' && r != '\u200b' && r != '\u2060' && unicode.In(r, unicode.Cc, unicode.Cf)
			}); i >= 0 {
				t.Errorf("%s has %q", form, out[max(0, i-40):min(len(out), i+10)])
			}
			must.True(t, form == "txt" || !strings.Contains(out, "<img") && !strings.Contains(out, "<script>alert"), "%s has markup of the run", form)
		}
	})
}
