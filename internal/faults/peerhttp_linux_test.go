package faults

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// hostileText is what a terminal would act on.
const hostileText = "\x1b[2J\x1b]0;hostile\x07\u202ehost\u200b\u009bile\r\n"

func answerAttacks() []string {
	return []string{
		"endless spaces", "endless list", "endless text", "endless error", "endless headers", "silent", "silent in the midst", "slow", "short", "closes", "garbage",
		"redirects", "come back in an hour", "too many", "escapes", "a list", "a string", "null", "null elements", "deep", "huge numbers", "bomb",
	}
}

// attackAnswer answers a request as no engine and no cluster does.
func attackAnswer(attack string, w http.ResponseWriter, r *http.Request) {
	say := func(code int, text string) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text) // who asked may have gone
	}
	raw := func(speak func(net.Conn)) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			speak(c)
			c.Close()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	switch attack {
	case "endless spaces":
		forever(w, " ")
	case "endless list":
		_, _ = io.WriteString(w, `{"items":[{}`)
		forever(w, `,{"metadata":{"name":"a"},"Id":"1"}`)
	case "endless text":
		_, _ = io.WriteString(w, `{"Version":"`)
		forever(w, "x")
	case "endless error":
		w.WriteHeader(http.StatusInternalServerError)
		forever(w, "x")
	case "endless headers":
		raw(func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			forever(c, "X: "+strings.Repeat("y", 1000)+"\r\n")
		})
	case "silent":
		<-r.Context().Done()
	case "silent in the midst":
		say(http.StatusOK, "{")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "slow":
		for _, b := range `{"Version":"1.48","items":[` + strings.Repeat(" ", 1<<20) {
			if _, err := w.Write([]byte(string(b))); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	case "short":
		w.Header().Set("Content-Length", "1000000")
		say(http.StatusOK, "{")
	case "closes":
		raw(func(net.Conn) {})
	case "garbage":
		raw(func(c net.Conn) { _, _ = c.Write([]byte(strings.Repeat("\x00\xff\x1b[31m\r\n", 1000))) })
	case "redirects":
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	case "come back in an hour":
		w.Header().Set("Retry-After", "3600")
		say(http.StatusServiceUnavailable, "{}")
	case "too many":
		w.Header().Set("Retry-After", "1")
		say(http.StatusTooManyRequests, "{}")
	case "escapes":
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500, "message": hostileText})
	case "a list":
		say(http.StatusOK, `[1,2]`)
	case "a string":
		say(http.StatusOK, `"x"`)
	case "null":
		say(http.StatusOK, `null`)
	case "null elements":
		say(http.StatusOK, `{"items":[null,{"metadata":null}],"Services":[null],"groups":[null],"versions":[null],"resources":[null]}`)
	case "deep":
		say(http.StatusOK, strings.Repeat(`{"a":[`, 1<<20))
	case "huge numbers":
		say(http.StatusOK, `{"ApiVersion":"999999999999999.9","MemTotal":1e999,"code":99999999999999999999,"items":[{"metadata":{"generation":1e400}}]}`)
	case "bomb":
		w.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err == nil {
			forever(z, " ")
		}
	}
}

// turning serves good answers, by path, as many as the case says, and attacks from then on.
func turning(c peerCase, answers map[string]any) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if int(asked.Add(1)) > c.good {
			attackAnswer(c.attack, w, r)
			return
		}
		at := strings.TrimPrefix(r.URL.Path, "/v1.48")
		w.Header().Set("Api-Version", "1.48")
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[at]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "there is none"}
		}
		_ = json.NewEncoder(w).Encode(answer) // who asked may have gone
	})
}

// openEngine makes the socket of an engine, for the environment.
func openEngine(c peerCase, home string) (environment []string, shut func(), err error) {
	path := filepath.Join(home, "docker.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, nil, err
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: turning(c, map[string]any{
		"/_ping": "OK", "/version": map[string]any{"Version": "29.0.0", "ApiVersion": "1.48", "Os": "linux", "Arch": "amd64"},
		"/info":            map[string]any{"ServerVersion": "29.0.0", "OSType": "linux", "Architecture": "x86_64", "Name": "far", "CgroupVersion": "2"},
		"/containers/json": []any{}, "/networks": []any{}, "/images/json": []any{}, "/services": []any{},
	})}
	go func() { _ = s.Serve(l) }() // ends with Close
	return []string{"DOCKER_HOST=unix://" + path}, func() { _ = s.Close() }, nil
}

// openCluster makes the API server of a cluster, and its kubeconfig, for the environment.
func openCluster(c peerCase, home string) (environment []string, shut func(), err error) {
	node := func(name string) any {
		return map[string]any{"metadata": map[string]any{"name": name}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}}
	}
	s := httptest.NewServer(turning(c, map[string]any{
		"/version":         map[string]any{"major": "1", "minor": "33", "gitVersion": "v1.33.4"},
		"/api":             map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis":            map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}},
		"/api/v1/nodes":    map[string]any{"kind": "NodeList", "apiVersion": "v1", "items": []any{node("a"), node("b")}},
		"/api/v1/pods":     map[string]any{"kind": "PodList", "apiVersion": "v1", "items": []any{}},
		"/api/v1/services": map[string]any{"kind": "ServiceList", "apiVersion": "v1", "items": []any{}},
		"/api/v1/namespaces": map[string]any{"kind": "NamespaceList", "apiVersion": "v1", "items": []any{
			map[string]any{"metadata": map[string]any{"name": "bench"}},
		}},
	}))
	path := filepath.Join(home, "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + s.URL + "'}}]\ncontexts: [{name: here, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: here\n"
	err = os.WriteFile(path, []byte(text), 0o600)
	return []string{"KUBECONFIG=" + path}, func() {
		s.CloseClientConnections()
		s.Close()
	}, err
}
