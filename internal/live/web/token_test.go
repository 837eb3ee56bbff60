package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

const testToken = "0123456789abcdef"

// Without the token every page is refused, in the same words, and no answer contains it.
func TestToken(t *testing.T) {
	s, _ := site(t, testToken)
	other := s
	other.Token = "fedcba9876543210"
	for name, c := range map[string]struct {
		path   string
		cookie *http.Cookie
		code   int
	}{
		"nothing":             {"/", nil, 403},
		"a run":               {"/run/now", nil, 403},
		"its events":          {"/events/now", nil, 403},
		"no such page":        {"/nothing", nil, 403},
		"another token":       {"/?token=0123456789abcdeX", nil, 403},
		"a longer token":      {"/?token=0123456789abcdefg", nil, 403},
		"an empty token":      {"/?token=", nil, 403},
		"it as a path":        {"/0123456789abcdef/", nil, 403},
		"it as the cookie":    {"/", &http.Cookie{Name: s.cookie().Name, Value: testToken}, 403},
		"another one's":       {"/", other.cookie(), 403},
		"an empty cookie":     {"/", &http.Cookie{Name: s.cookie().Name}, 403},
		"the cookie":          {"/", s.cookie(), 200},
		"the cookie, a run":   {"/run/now", s.cookie(), 200},
		"the cookie, nowhere": {"/nothing", s.cookie(), 404},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "http://127.0.0.1"+c.path, nil)
			if c.cookie != nil {
				r.AddCookie(c.cookie)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			must.EqualFor(t, "code", c.code, w.Code)
			if all := w.Body.String() + strings.Join(w.Header()["Set-Cookie"], ""); strings.Contains(all, s.Token) || strings.Contains(all, "a b/done") != (name == "the cookie") {
				t.Errorf("the answer is\n%s", all)
			}
			must.True(t, w.Code != 403 || len(w.Header()["Set-Cookie"]) == 0, "a cookie without the token")
		})
	}
}

// The token in an address gives a cookie that scripts and other sites cannot use, and leads to the
// same address without it, on this server.
func TestTokenIsExchanged(t *testing.T) {
	s, _ := site(t, testToken)
	for from, to := range map[string]string{
		"/?token=" + testToken:                         "/",
		"/?q=a+b&token=" + testToken:                   "/?q=a+b",
		"/run/a%20b/done?token=" + testToken:           "/run/a%20b/done",
		"//evil.example/run?token=" + testToken:        "/evil.example/run",
		"/%5C%5Cevil.example?token=" + testToken:       "/%5C%5Cevil.example",
		"/?token=" + testToken + "&token=" + testToken: "/",
		"/compare?after=b&before=a&token=" + testToken: "/compare?after=b&before=a",
	} {
		r := httptest.NewRequest("GET", "http://127.0.0.1"+from, nil)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != 303 || w.Header().Get("Location") != to || strings.Contains(w.Body.String(), testToken) {
			t.Errorf("%s: code %d to %q, want 303 to %q", from, w.Code, w.Header().Get("Location"), to)
		}
		got := w.Header().Get("Set-Cookie")
		for _, want := range []string{s.cookie().Name + "=" + s.cookie().Value, "; Path=/", "; HttpOnly", "; SameSite=Strict"} {
			must.True(t, strings.Contains(got, want), "%s: the cookie %q lacks %q", from, got, want)
		}
		if w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", from, w.Header())
		}
	}
}

func TestAddress(t *testing.T) {
	must.Equal(t, "http://[::1]:80/?token="+testToken, (Server{Token: testToken}).Address("[::1]:80"))
	must.Equal(t, "http://127.0.0.1:80/", (Server{}).Address("127.0.0.1:80"))
}
