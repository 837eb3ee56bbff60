package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/report"
	"tare/internal/report/hypertext"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/wording"
)

// underWay reports whether a process is writing the run now. A killed run has no run.json
// either, but its trials file is not locked.
func underWay(dir string) bool { return store.IsLocked(dir) }

// watched is a run in progress: the matrix so far.
type watched struct {
	Columns []string
	Rows    []watchedRow
	Trials  result.Tally
	Last    []string // newest trials first
	Lately  string
}

type watchedRow struct {
	Mode  string
	Cells []string
}

// watch shows a run in progress. The page subscribes to events and shows their content.
func (s Server) watch(w *pending, found store.Summary, in report.Input) {
	s.page(w, func(b *bytes.Buffer) error {
		page{b}.watch(s.name(found), link("events", pathEscape(s.name(found))), matrixSoFar(in))
		return nil
	})
}

// watch writes the page of a run in progress, which subscribes to events.
func (p page) watch(name, events string, now watched) {
	p.head("Under way", home())
	p.f(`
<p class="meta"><bdi>%s</bdi></p>
<noscript><p class="notice">Without scripts this page shows the state at the time of loading; reload it to update.</p></noscript>
</header>
<main>
<p id="state" role="status">under way</p>
<div id="matrix" data-events="%s">`, name, events)
	p.matrix(now)
	p.f("</div>\n</main>\n<script>%s</script>\n</body>\n</html>\n", hypertext.Markup(watchScript))
}

// matrix writes the part of the page that each event replaces.
func (p page) matrix(now watched) {
	p.f("\n<p class=\"meta\">Trials: %d ok, %d invalid, %d failed. Verdicts follow at the end.</p>\n", now.Trials.OK, now.Trials.Invalid, now.Trials.Failed)
	if len(now.Columns) > 0 {
		columns := []string{"Mode"}
		for _, c := range now.Columns {
			columns = append(columns, "#"+c)
		}
		p.table("So far", columns...)
		for _, row := range now.Rows {
			p.f("\n<tr><th scope=\"row\"><bdi>%s</bdi></th>", row.Mode)
			for _, c := range row.Cells {
				p.f(`<td class="num">%s</td>`, c)
			}
			p.f("</tr>")
		}
		p.f(afterTable)
	}
	if len(now.Last) > 0 {
		p.f("<h2>Last trials</h2>\n<ul class=\"warnings\">")
		for _, t := range now.Last {
			p.f("<li>%s</li>", t)
		}
		p.f("</ul>\n")
	}
}

// lastTrials is how many of the last trials the page lists.
const lastTrials = 8

// matrixSoFar is the matrix of the trials so far. It has no verdicts until the run ends.
func matrixSoFar(in report.Input) watched {
	out := watched{Trials: result.Count(in.Trials)}
	type column struct{ workload, metric string }
	var columns []column
	for _, c := range in.Run.Cells {
		m, _ := result.MetricNamed(c.Metric)
		at := column{c.Workload, c.Metric}
		if !m.Primary {
			continue
		}
		known := false
		for _, o := range columns {
			known = known || o == at
		}
		if !known {
			columns = append(columns, at)
			out.Columns = append(out.Columns, short(c.Workload+" "+c.Metric))
		}
	}
	for _, m := range in.Run.Modes {
		row := watchedRow{Mode: short(m.ID)}
		for _, at := range columns {
			row.Cells = append(row.Cells, cellSoFar(in.Run.Cells, m.ID, at.workload, at.metric))
		}
		out.Rows = append(out.Rows, row)
	}
	for i := len(in.Trials) - 1; i >= 0 && len(out.Last) < lastTrials; i-- {
		out.Last = append(out.Last, trialText(in.Trials[i]))
	}
	return out
}

// cellSoFar is a value with its ratio so far, without an interval: the page looks again after every trial, and an interval holds for one
// look.
func cellSoFar(cells []result.Cell, mode, workload, metric string) string {
	for _, c := range cells {
		if c.Mode != mode || c.Workload != workload || c.Metric != metric || c.Value == nil {
			continue
		}
		text := wording.AtLeast(c, wording.Value(*c.Value, c.Unit))
		if c.Ratio != nil {
			text += " · " + wording.Ratio(c.Ratio, nil)
		}
		return text + fmt.Sprintf(" · n %d", c.N)
	}
	return wording.Unknown
}

// trialText is the text for a trial.
func trialText(t result.Trial) string {
	text := fmt.Sprintf("block %d: %s %s", t.Block, short(t.Mode), short(t.Workload))
	if t.Status != result.TrialOK {
		return text + " " + string(t.Status) + ": " + wording.Cut(wording.Clean(t.Reason), 300)
	}
	for _, m := range result.Metrics() {
		if v, ok := t.Metrics[m.Name]; ok && m.Primary {
			text += " " + wording.Value(v, m.Unit)
		}
	}
	return text
}

// events sends the matrix whenever there are more trials, until the run has ended.
func (s Server) events(w http.ResponseWriter, r *http.Request, pages *work) {
	found, ok := s.requestedRun(w, r.PathValue("path"))
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(name, data string) error {
		if _, err := io.WriteString(w, event(name, data)); err != nil {
			return err
		}
		return out.Flush()
	}
	every := time.NewTicker(max(s.Interval, 50*time.Millisecond))
	defer every.Stop()
	seen := int64(-1)
	for {
		ended := !underWay(found.Path)
		if size := sizeOf(found.Path); size != seen {
			end, free := pages.begin(r.Context())
			if !free && r.Context().Err() == nil {
				continue // begin has waited
			}
			if !free {
				return
			}
			seen = size
			name, data := s.now(found.Path)
			end()
			if send(name, data) != nil {
				return
			}
		}
		if ended {
			_ = send("ended", "the run has ended")
			return
		}
		select {
		case <-every.C:
		case <-r.Context().Done():
			return
		}
	}
}

// now is the event with the matrix so far, or with why the run cannot be read.
func (s Server) now(dir string) (name, data string) {
	in, err := s.Load(dir)
	if err != nil {
		// It may have been removed, or a line may be incomplete.
		return "trouble", err.Error()
	}
	var b bytes.Buffer
	page{&b}.matrix(matrixSoFar(in))
	return "matrix", b.String()
}

// event is one event of a stream. Each line of data has a field of its own: CR, LF and CRLF all end a
// field (HTML, 9.2.6), so that none of them in foreign text can begin another.
func event(name, data string) string {
	data = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
	var b strings.Builder
	fmt.Fprintf(&b, "event: %s\n", name)
	for line := range strings.SplitSeq(strings.TrimRight(data, "\n"), "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	return b.String() + "\n"
}

// sizeOf is the size of the trials file, 0 if there is none.
func sizeOf(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, store.TrialsFile))
	if err != nil {
		return 0
	}
	return info.Size()
}
