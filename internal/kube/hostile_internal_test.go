package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// connectTo connects to a server that need not be a cluster. Its limit of an answer is the usual one if it is 0.
func connectTo(t *testing.T, limit time.Duration, serve http.HandlerFunc) (*Cluster, error) {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	path := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + s.URL + "'}}]\ncontexts: [{name: here, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: here\n"
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return Connect(t.Context(), Options{Kubeconfig: path, Image: "x", answerLimit: limit})
}

// endless writes text until nobody reads it.
func endless(w io.Writer, text string) {
	many := []byte(strings.Repeat(text, 64<<10/len(text)))
	for {
		if _, err := w.Write(many); err != nil {
			return
		}
	}
}

// A cluster that is hostile or broken costs a bounded time and memory, and is named for what it does.
func TestHostileCluster(t *testing.T) {
	t.Setenv(timelimit.Variable, "1")
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		want  error
	}{
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) { endless(w, " ") }, errAnswer},
		"an endless error":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); endless(w, "x") }, errAnswer},
		"too many objects": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("{"), maxAnswerObjects+1))
		}, errAnswer},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrUnreachable},
		"silent in the midst": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, ErrUnreachable},
		"come back in an hour": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(503)
		}, ErrUnreachable},
		"endless redirections": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			limit := time.Duration(0)
			if strings.HasPrefix(name, "silent") {
				limit = 300 * time.Millisecond // it is waited for
			}
			_, err := connectTo(t, limit, tt.serve)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tt.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 2*longestError {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8*maxAnswer {
				t.Errorf("%d bytes were allocated", took)
			}
		})
	}
}

// A cluster with too many requests is asked again, not after the time that it names, and one whose lists never
// end is read to a bound.
func TestRepeatedAnswers(t *testing.T) {
	var asked atomic.Int64
	c := must.Get(connectTo(t, 0, func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n < 3:
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		case r.URL.Path == "/version":
			_, _ = w.Write([]byte(`{"gitVersion": "v1"}`))
		default:
			_, _ = w.Write([]byte(`{"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "n` + strconv.FormatInt(n, 10) + `"}}]}`))
		}
	}))(t)
	must.Fail(t, must.Err(c.Nodes(t.Context(), "")), "list the nodes on cluster here: there are more than 20000; check what listens")
	must.Equal(t, 3+maxPages, int(asked.Load()))
}

// A cluster that was late has less time for the next answer, until one comes in time, whatever it says.
func TestHurriedCluster(t *testing.T) {
	refusal := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a")
	synctest.Test(t, func(t *testing.T) {
		c := &Cluster{client: client{late: new(atomic.Bool)}}
		var took []time.Duration
		for _, answer := range []error{context.DeadlineExceeded, context.DeadlineExceeded, nil, context.DeadlineExceeded, refusal, context.DeadlineExceeded} {
			began := time.Now()
			err := c.withAnswerTimeout(t.Context(), func(ctx context.Context) error {
				if errors.Is(answer, context.DeadlineExceeded) {
					<-ctx.Done()
				}
				return answer
			})
			if silent := new(silentError); errors.As(err, &silent) != errors.Is(answer, context.DeadlineExceeded) {
				t.Errorf("%v of %v", err, answer)
			}
			took = append(took, time.Since(began))
		}
		long, short := timelimit.Scaled(answerLimit), timelimit.Scaled(hurriedLimit)
		must.Equal(t, []time.Duration{long, short, 0, long, 0, long}, took)
	})
}
