// Package web serves the runs below a directory as local web pages: a list, the reports,
// a comparison of two runs, results over time, and a run in progress. It is read-only.
package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
)

// Server configures the pages.
type Server struct {
	Runs string // directory that contains the runs
	// Load reads a run's directory for its report; for a run in progress, with the cells
	// of its trials so far.
	Load func(dir string) (report.Input, error)
	// Compare compares the runs of two directories.
	Compare func(before, after string) (result.Changes, error)
	// Claims lists the claims of the built-in studies with their outcomes in these runs, and the
	// runs that cannot be read.
	Claims func() (all []result.StudyClaims, broken []string, err error)
	// Title is the title of a run's study, empty if it has none; nil for none at all.
	Title func(path string) string
	// Studies lists the studies of the runs, and History returns the history of the one with that
	// hash, or fs.ErrNotExist.
	Studies func() ([]Study, error)
	History func(hash string) (result.History, error)
	// Token, unless empty, is needed for every page: once in the address, and then as a
	// cookie. Other requests are refused.
	Token string
	// Hosts are the host names that requests may use besides addresses and localhost. All
	// others are refused, to prevent DNS rebinding.
	Hosts []string
	// Interval is the interval at which a run in progress is read.
	Interval time.Duration
	// WriteTimeout is how long a browser may take to receive a part of a page; 0 is 30 s.
	WriteTimeout time.Duration
	// MakeTimeout is how long a request waits for others whose pages are being made; 0 is 10 s.
	MakeTimeout time.Duration
}

// watchers is the maximum number of pages that watch runs at the same time.
const watchers = 64

// Handler answers requests.
func (s Server) Handler() http.Handler {
	mux := http.NewServeMux()
	busy := make(chan struct{}, watchers)
	pages := newWork(cmp.Or(s.MakeTimeout, makeTimeout))
	mux.HandleFunc("GET /{$}", s.made(pages, s.list))
	mux.HandleFunc("GET /run/{path...}", s.made(pages, s.run))
	mux.HandleFunc("GET /events/{path...}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
			s.events(w, r, pages)
		default:
			s.busy(w, fmt.Sprintf("%d pages already watch runs: close one", watchers))
		}
	})
	mux.HandleFunc("GET /compare", s.made(pages, s.compare))
	mux.HandleFunc("GET /claims", s.made(pages, s.claims))
	mux.HandleFunc("GET /history", s.made(pages, s.histories))
	mux.HandleFunc("GET /history/{hash}", s.made(pages, s.history))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		s.fail(w, http.StatusNotFound, "page not found")
	})
	return s.guard(mux)
}

// guard refuses requests that are not allowed, and sets the security headers and the time limit of
// each write.
func (s Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w := newTimedWriter(out, cmp.Or(s.WriteTimeout, writeTimeout))
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src "+styleSource()+
			"; script-src "+scriptSource()+"; connect-src 'self'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.known(r.Host):
			s.fail(w, http.StatusMisdirectedRequest, "this server does not answer to that host name")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			s.fail(w, http.StatusMethodNotAllowed, "the pages are read-only")
		case r.ContentLength != 0:
			h.Set("Connection", "close") // else the server would wait for the body
			s.fail(w, http.StatusBadRequest, "a request for a page has no body")
		case s.admit(w, r):
			markAdmitted(r.Context())
			next.ServeHTTP(w, r)
		}
	})
}

// link is the address of a page.
func link(parts ...string) string { return "/" + strings.Join(parts, "/") }

// name is the name of a listed run.
func (s Server) name(r store.Summary) string { return s.below(r.Path) }

// below is a run's path below the directory of runs, with slashes; "." is the directory
// itself.
func (s Server) below(path string) string {
	rel, err := filepath.Rel(s.Runs, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// run shows a report, or the current state of a run in progress.
func (s Server) run(w *pending, r *http.Request) {
	found, ok := s.requestedRun(w, r.PathValue("path"))
	if !ok {
		return
	}
	in, err := s.Load(found.Path)
	if errors.Is(err, fs.ErrNotExist) {
		s.fail(w, http.StatusNotFound, fmt.Sprintf("run %s was removed", s.name(found)))
		return
	}
	if err != nil {
		s.fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	if underWay(found.Path) {
		s.watch(w, found, in)
		return
	}
	s.page(w, func(b *bytes.Buffer) error { return report.HTML(b, in) })
}

// requestedRun finds a run, or answers that there is none.
func (s Server) requestedRun(w http.ResponseWriter, name string) (store.Summary, bool) {
	found, err := store.Find(s.Runs, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.fail(w, http.StatusNotFound, fmt.Sprintf("run %s does not exist; it may have been removed", name))
	case err != nil:
		s.fail(w, http.StatusInternalServerError, err.Error())
	case found.Problem != "":
		s.fail(w, http.StatusUnprocessableEntity, found.Problem)
	default:
		return found, true
	}
	return found, false
}

func (s Server) compare(w *pending, r *http.Request) {
	q := r.URL.Query()
	if q.Get("before") == "" || q.Get("after") == "" || q.Get("before") == q.Get("after") {
		s.fail(w, http.StatusBadRequest, "select two different runs, one as before and one as after")
		return
	}
	before, ok := s.requestedRun(w, q.Get("before"))
	if !ok {
		return
	}
	after, ok := s.requestedRun(w, q.Get("after"))
	if !ok {
		return
	}
	changes, err := s.Compare(before.Path, after.Path)
	if err != nil {
		s.fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	s.page(w, func(b *bytes.Buffer) error { return report.ChangesHTML(b, changes) })
}

// page makes a page, or an error page in its place.
func (s Server) page(w *pending, make func(*bytes.Buffer) error) {
	if err := make(&w.body); err != nil {
		w.body.Reset()
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
}
