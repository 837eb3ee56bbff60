package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
)

// FuzzRequests checks that whatever a browser asks for, under whatever name of the server, it gets
// nothing without the token, and never a page without a policy, with the request's own markup, or
// of another directory.
func FuzzRequests(f *testing.F) {
	const token = "0123456789abcdef"
	f.Add("GET", "/"+token+"/", "localhost", "q=quick")
	f.Add("GET", "/"+token+"/run/a%20b/done", "127.0.0.1:8273", "")
	f.Add("GET", "/"+token+"/run/..%2f..%2fetc/passwd", "[::1]", "")
	f.Add("GET", "/"+token+"/compare", "bench.example", "before=done&after=%3Cscript%3E%1b%e2%80%ae")
	f.Add("POST", "/"+token+"x", "evil.example", "q=<script>alert(1)</script>")
	f.Add("GET", "//"+token, "localhost.", "")
	f.Add("HEAD", "/run/done", "", "%zz")
	f.Add("GET", "/"+token+"/history/ab12", "localhost", "")
	top := f.TempDir()
	d := must.Get(store.Create(top + "/done"))(f)
	must.Do(f, errors.Join(d.WriteRun(result.Run{Schema: result.Schema, ID: "d0d0", Status: result.RunComplete}), d.Close()))
	s := Server{Runs: top, Token: token, Hosts: []string{"bench.example"},
		Load: func(dir string) (report.Input, error) {
			if dir != top+"/done" {
				return report.Input{}, errors.New("loaded " + dir)
			}
			return report.Input{Run: result.Run{ID: "d0d0"}}, nil
		},
		Compare: func(string, string) (result.Changes, error) { return result.Changes{}, nil },
		Studies: func() ([]Study, error) { return []Study{{Hash: "ab12"}}, nil },
		History: func(hash string) (result.History, error) { return result.History{Study: hash, Hash: hash}, nil },
	}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, method, path, host, query string) {
		if strings.Contains(path, "/events") {
			return // they last until the run ends
		}
		at, err := url.ParseRequestURI(path)
		if err != nil {
			return // net/http refuses it
		}
		at.RawQuery = query
		r := httptest.NewRequest("GET", "http://x/", nil)
		r.Method, r.URL, r.Host = method, at, host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		body := w.Body.String()
		if got := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'") {
			t.Errorf("the policy is %q", got)
		}
		must.True(t, w.Code != http.StatusOK || strings.HasPrefix(at.Path, "/"+token) && (method == "GET" || method == "HEAD") && s.known(host),
			"%q %q of %q is answered:\n%.500s", method, path, host, body)
		must.True(t, !strings.Contains(body, "loaded ") && (w.Code != http.StatusForbidden || !strings.Contains(body, token)), "%q is answered:\n%.500s", path, body)
		for _, own := range []string{at.Path, query, at.Query().Get("q"), at.Query().Get("before")} {
			must.True(t, !strings.ContainsAny(own, "<>") || !strings.Contains(own, "<") || len(own) <= 8 || !strings.Contains(body, own), "%q is in the page as it is", own)
		}
		if i := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf) }); i >= 0 {
			t.Errorf("the page of %q has %q", path, body[max(0, i-50):min(len(body), i+20)])
		}
	})
}
