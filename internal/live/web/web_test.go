package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// site is a server for a directory with a run, a run in progress and an unreadable one.
func site(t *testing.T, token string) (Server, *store.Dir) {
	t.Helper()
	top := t.TempDir()
	done := must.Get(store.Create(filepath.Join(top, "a b", "done")))(t)
	must.Do(t, errors.Join(done.WriteRun(result.Run{Schema: result.Schema, ID: "d0d0", Status: result.RunComplete, Profile: "quick",
		Modes: []result.Mode{{ID: "<b>host</b>", Status: result.ModeMeasured}}}), done.WriteFile(store.AnswerFile, []byte("<u>bridge</u> costs most\n")), done.Close()))
	bad := filepath.Join(top, "bad")
	must.Do(t, errors.Join(os.Mkdir(bad, 0o700), os.WriteFile(filepath.Join(bad, store.RunFile), []byte(`{"schema":"tare.run/9"}`), 0o600)))
	now := must.Get(store.Create(filepath.Join(top, "now")))(t)
	t.Cleanup(func() { now.Close() })
	append1(t, now, 1, 9e9)
	return Server{Runs: top, Token: token, Hosts: []string{"bench.example"}, Interval: 50 * time.Millisecond, Claims: claimsOf(top),
		Title: func(path string) string { return "<s>title</s> of " + filepath.Base(path) },
		Load: func(dir string) (report.Input, error) {
			d, err := store.Open(dir)
			if err != nil {
				return report.Input{}, err
			}
			defer d.Close()
			run, trials, err := d.Load()
			if run.Cells == nil {
				run.Cells, _ = verdict.Cells(run.Modes, []string{"tcp_stream"}, trials, verdict.Rule{Margin: 0.05})
			}
			return report.Input{Run: run, Trials: trials}, err
		},
		Compare: func(before, after string) (result.Changes, error) {
			if filepath.Base(before) == filepath.Base(after) {
				return result.Changes{}, errors.New("the same")
			}
			return result.Changes{Before: result.RunRef{ID: filepath.Base(before)}, After: result.RunRef{ID: filepath.Base(after)}}, nil
		},
		Studies: func() ([]Study, error) {
			return []Study{{Name: "<i>overlays</i>", Hash: "ab12", Runs: 3, Valid: 2, Latest: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC),
				Newest: store.Summary{Path: "x/newest", Modes: []string{"<b>m</b>"}, Workloads: []string{"tcp_rr"}, Answer: "<u>m</u> costs 3 %"}}}, nil
		},
		History: func(hash string) (result.History, error) {
			if hash != "ab12" {
				return result.History{}, fs.ErrNotExist
			}
			return result.History{Study: "<i>overlays</i>", Hash: hash, Machines: []result.MachineHistory{{Machine: "Xeon", Runs: []result.HistoryRun{{ID: "r0d0"}},
				Series: []result.HistorySeries{{Mode: "<b>m</b>", Baseline: "host", Workload: "tcp_rr", Metric: "transaction_rate", Points: []result.HistoryPoint{{Ratio: 0.5}}}}}}}, nil
		},
	}, now
}

// claimsOf are the claims of two studies, one of which was run, with a run that cannot be read.
func claimsOf(top string) func() ([]result.StudyClaims, []string, error) {
	return func() ([]result.StudyClaims, []string, error) {
		evil, v := "<script>alert(1)</script>", 0.54
		return []result.StudyClaims{
			{Study: "overlays", Title: evil, Run: filepath.Join(top, "a b", "done"), Profile: "quick", Machine: evil, Claims: []result.Claim{
				{ID: "half", Claim: "VXLAN halves " + evil, Source: evil, Published: "0.55", Outcome: result.ClaimHolds, Reason: evil, Value: &v, CI: &result.Interval{0.5, 0.58},
					Points: []result.ClaimPoint{{Label: "at " + evil, Outcome: result.ClaimCannotTell}}},
			}},
			{Study: "sdn", Title: "Switches", Command: "tare run sdn --claims", Claims: []result.Claim{{ID: "x", Claim: "A before B"}}},
		}, []string{filepath.Join(top, "bad")}, nil
	}
}

func append1(t *testing.T, d *store.Dir, seq int, goodput float64) {
	t.Helper()
	must.Do(t, d.Append(result.Trial{Schema: result.TrialSchema, Seq: seq, Block: seq, Mode: "host", Workload: "tcp_stream", Attempt: 1,
		Status: result.TrialOK, Metrics: map[string]float64{"goodput": goodput}}))
}

// asked is the answer to a request for a page.
func asked(s Server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
	return w
}

func TestPages(t *testing.T) {
	s, _ := site(t, "")
	files := func() (all []string) {
		must.Do(t, filepath.WalkDir(s.Runs, func(path string, e fs.DirEntry, err error) error {
			info, _ := e.Info()
			all = append(all, fmt.Sprint(path, info.ModTime(), info.Size()))
			return err
		}))
		return all
	}
	before := files()
	defer func() { must.EqualFor(t, "files", before, files()) }()
	for _, c := range []struct {
		name, method, path, host string
		code                     int
		want, not                string
	}{
		{"the list", "GET", "/", "", 200, `href="/run/a%20b/done"`, "<b>host"},
		{"names are escaped", "GET", "/", "", 200, "&lt;b&gt;host", ""},
		{"a run that cannot be read", "GET", "/", "", 200, "unreadable: .*tare.run/9", ""},
		{"a run under way", "GET", "/", "", 200, `class="now">under way`, ""},
		{"a search", "GET", "/?q=quick+done", "", 200, "a b/done", `/run/now`},
		{"a search for nothing", "GET", "/?q=%3Cscript%3E", "", 200, "No run has all", "<script>"},
		{"a report", "GET", "/run/a%20b/done", "", 200, "d0d0", ""},
		{"what cannot be read", "GET", "/run/bad", "", 422, "tare.run/9", ""},
		{"no such run", "GET", "/run/gone", "", 404, "run gone does not exist", ""},
		{"a run elsewhere", "GET", "/run/..%2f..%2fetc", "", 404, "does not exist", ""},
		{"the directory itself", "GET", "/run/.", "", 404, "", ""},
		{"no such page", "GET", "/nothing", "", 404, "page not found", ""},
		{"a run that is watched", "GET", "/run/now", "", 200, `data-events="/events/now"`, ""},
		{"a comparison", "GET", "/compare?before=a+b/done&after=now", "", 200, "What changed", ""},
		{"a comparison of one", "GET", "/compare?before=now&after=now", "", 400, "select two different runs", ""},
		{"a comparison with nothing", "GET", "/compare?before=now&after=gone", "", 404, "run gone does not exist", ""},
		{"the claims", "GET", "/claims", "", 200, `(?s)VXLAN halves &lt;script&gt;.*<td>0.55</td><td>0.54 \(0.50-0.58\)</td><td class="verdict t-same"><div>holds</div>`, "<script>alert"},
		{"a claim's run", "GET", "/claims", "", 200, `<a href="/run/a%20b/done#claims"><bdi>a b/done</bdi></a>`, ""},
		{"a claim's parts", "GET", "/claims", "", 200, `(?s)<bdi>at &lt;script.*<div>cannot tell</div>`, ""},
		{"a study that was not run", "GET", "/claims", "", 200, `(?s)not run: tare run sdn --claims.*A before B.*<div>not run</div>`, ""},
		{"how many claims hold", "GET", "/claims", "", 200, `Claims: 1 holds, 1 not run\.`, ""},
		{"runs that the claims lack", "GET", "/claims", "", 200, `1 run cannot be read: bad<`, ""},
		{"the way to the claims", "GET", "/", "", 200, `<a href="/claims">Published claims</a>`, ""},
		{"claims to change", "POST", "/claims", "", 405, "read-only", ""},
		{"the list leads to histories", "GET", "/", "", 200, `href="/history"`, ""},
		{"histories", "GET", "/history", "", 200, `href="/history/ab12"><bdi>&lt;i&gt;overlays`, "<i>overlays"},
		{"a history", "GET", "/history/ab12", "", 200, `(?s)History of study &lt;i&gt;overlays.*r0d0`, "<b>m"},
		{"no such history", "GET", "/history/ab%2f..", "", 404, "no run is of this study", ""},
		{"something to change", "POST", "/", "", 405, "read-only", ""},
		{"a removal", "DELETE", "/run/now", "", 405, "", ""},
		{"another's name", "GET", "/", "evil.example", 421, "does not answer to that host name", ""},
		{"another's name with a port", "GET", "/run/now", "evil.example:8273", 421, "", ""},
		{"an address", "GET", "/", "127.0.0.1:8273", 200, "Runs", ""},
		{"an address of six", "GET", "/", "[::1]:8273", 200, "Runs", ""},
		{"localhost", "GET", "/", "localhost:8273", 200, "Runs", ""},
		{"a name of its own", "GET", "/", "Bench.example:8273", 200, "Runs", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, nil)
			if c.host != "" {
				r.Host = c.host
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			body := w.Body.String()
			// Redirects to a cleaned path are the mux's own.
			if c.path == "/run/." && w.Code/100 == 3 {
				return
			}
			must.True(t, w.Code == c.code, "code %d, want %d:\n%s", w.Code, c.code, body[max(0, len(body)-400):])
			must.True(t, regexp.MustCompile(c.want).MatchString(body), "no %q in\n%s", c.want, body[max(0, len(body)-2000):])
			must.True(t, c.not == "" || !strings.Contains(body, c.not), "%q is in it", c.not)
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q", csp)
			}
		})
	}
}

// A page that watches a run receives each trial when it is written, and the end.
func TestWatch(t *testing.T) {
	s, now := site(t, "")
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := must.Get(http.NewRequestWithContext(ctx, "GET", server.URL+"/events/now", nil))(t)
	answer := must.Get(server.Client().Do(r))(t)
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("it is %s", kind)
	}
	in := bufio.NewReader(answer.Body)
	must.Contain(t, next(t, in), "event: matrix", "9.00 Gbit/s", "1 ok")
	append1(t, now, 2, 9e9)
	must.Contain(t, next(t, in), "2 ok", "n 2")
	must.Do(t, now.Close())
	must.Contain(t, next(t, in), "event: ended")
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more behind the end: %v", err)
	}
}

// next reads the next event.
func next(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line := must.Get(in.ReadString('\n'))(must.Named(t, fmt.Sprintf("after %q", b.String())))
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// The end of the context ends the server, including pages that watch.
func TestListenEnds(t *testing.T) {
	s, _ := site(t, "")
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Listen(ctx, func(h *http.Server) error { return h.Serve(l) }, s.Handler()) }()
	answer := must.Get(http.Get("http://" + l.Addr().String() + "/events/now"))(t) //nolint:noctx // bounded by the server's end
	defer answer.Body.Close()
	next(t, bufio.NewReader(answer.Body))
	stop()
	must.Do(t, <-ended)
}

// A run that is removed between the list and its page, and the removal of the whole
// directory.
func TestRemovedInBetween(t *testing.T) {
	s, _ := site(t, "")
	load := s.Load
	s.Load = func(dir string) (report.Input, error) {
		must.Do(t, os.RemoveAll(dir))
		return load(dir)
	}
	ask := func(path string, code int, want string) {
		t.Helper()
		if w := asked(s, path); w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: code %d:\n%s", path, w.Code, w.Body.String())
		}
	}
	ask("/run/now", 404, "was removed")
	must.Do(t, os.RemoveAll(s.Runs))
	ask("/", 500, "no such file or directory")
	ask("/run/a%20b/done", 404, "may have been removed")
}

// Whatever the name of a run, the list stays readable and bounded.
func TestHostileList(t *testing.T) {
	s, _ := site(t, "")
	evil := "<script>alert(1)</script>\x1b[31m\u202e\u2066" + strings.Repeat("x", 10000)
	d := must.Get(store.Create(filepath.Join(s.Runs, "a?b#c%25<i>\"'\nd")))(t)
	must.Do(t, errors.Join(d.WriteRun(result.Run{ID: evil, Status: result.RunStatus(evil), Profile: evil, Modes: []result.Mode{{ID: evil}}}), d.Close()))
	w := asked(s, "/")
	body := w.Body.String()
	must.True(t, w.Code == 200 && len(body) <= 40000 && !strings.ContainsAny(body, "\x1b\u202e\u2066") && !strings.Contains(body, "<script>alert") && !strings.Contains(body, "<i>"),
		"code %d, %d bytes:\n%.3000s", w.Code, len(body), body)
	link := regexp.MustCompile(`href="(/run/a%3F[^"]*)"`).FindStringSubmatch(body)
	must.Require(t, link != nil, "no link to it in\n%.3000s", body)
	must.EqualFor(t, link[1], 200, asked(s, link[1]).Code)
}

// A page of claims that cannot be made says why, and one without any says so.
func TestClaimsFail(t *testing.T) {
	s, _ := site(t, "")
	for _, c := range []struct {
		err  error
		code int
		want string
	}{{errors.New("list runs in <b>: no"), 500, "list runs in &lt;b&gt;: no"}, {nil, 200, "No built-in study has claims."}} {
		s.Claims = func() ([]result.StudyClaims, []string, error) { return nil, nil, c.err }
		if w := asked(s, "/claims"); w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("code %d:\n%s", w.Code, w.Body)
		}
	}
}

// Both lists have the title, the workloads and the answer of a run, escaped, and whether anything in it is valid.
func TestListsTellAnswers(t *testing.T) {
	s, _ := site(t, "")
	must.Contain(t, asked(s, "/").Body.String(), "&lt;s&gt;title&lt;/s&gt; of done", "&lt;u&gt;bridge&lt;/u&gt; costs most", "complete, nothing valid")
	must.Contain(t, asked(s, "/?q=costs+most").Body.String(), "of done")
	must.Contain(t, asked(s, "/history").Body.String(), "&lt;s&gt;title&lt;/s&gt; of newest", "&lt;b&gt;m&lt;/b&gt;", "tcp_rr", "&lt;u&gt;m&lt;/u&gt; costs 3 %", `<td class="num">2</td>`)
}
