package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// tokenKey is the key of the token in the query of the address that tare serve prints.
const tokenKey = "token"

// Address returns the address to open, for a server that is reached at http://host.
func (s Server) Address(host string) string {
	at := "http://" + host + "/"
	if s.Token != "" {
		at += "?" + tokenKey + "=" + s.Token
	}
	return at
}

// cookie is what a browser sends instead of the token. Its name differs for each token, because
// browsers do not separate cookies by port.
func (s Server) cookie() *http.Cookie {
	derive := func(what string) string {
		sum := sha256.Sum256([]byte(what + " of tare serve " + s.Token))
		return hex.EncodeToString(sum[:16])
	}
	return &http.Cookie{Name: "tare-" + derive("name")[:8], Value: derive("value"), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// admit reports whether a request may see the pages. If it has the token in its address, it is
// redirected to the same address without it, and gets a cookie.
func (s Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.Token == "" {
		return true
	}
	query := r.URL.Query()
	if query.Has(tokenKey) && equal(query.Get(tokenKey), s.Token) {
		http.SetCookie(w, s.cookie())
		query.Del(tokenKey)
		to := *r.URL
		to.RawQuery = query.Encode()
		// Only the path and the query: two slashes at the start would name another server.
		http.Redirect(w, r, "/"+strings.TrimLeft(to.RequestURI(), "/"), http.StatusSeeOther)
		return false
	}
	want := s.cookie()
	if c, err := r.Cookie(want.Name); err == nil && equal(c.Value, want.Value) {
		return true
	}
	s.fail(w, http.StatusForbidden, "open the address that tare serve printed: it has the token that these pages need")
	return false
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
