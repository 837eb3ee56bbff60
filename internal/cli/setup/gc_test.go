package setup

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"tare/internal/cli/command"
	"tare/internal/engine"
	"tare/internal/runid"
	"tare/internal/testkit/must"
)

// An engine that cannot be reached, and a list that one does not give, keep nothing that was found elsewhere, and are reported.
func TestGCFindsDespiteErrors(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/services"):
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"message":"The swarm does not have a leader"}`)
		case strings.HasSuffix(r.URL.Path, "/info"):
			_, _ = io.WriteString(w, `{"Swarm":{"NodeID":"n","LocalNodeState":"active","ControlAvailable":true}}`)
		case strings.HasSuffix(r.URL.Path, "/version"):
			_, _ = io.WriteString(w, `{"Version":"29.0.0","ApiVersion":"1.52","MinAPIVersion":"1.40","Os":"linux","Arch":"amd64"}`)
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			_, _ = fmt.Fprintf(w, `[{"Id":"c","Names":["/left"],"Labels":{%q:"0123abcd",%q:%q,%q:"%d"}}]`,
				engine.LabelRun, engine.LabelMachine, runid.MachineID(), engine.LabelUser, os.Getuid())
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.52")
		default:
			_, _ = io.WriteString(w, "[]")
		}
	}))
	defer s.Close()
	var out, aside bytes.Buffer
	c := commands{Streams: command.Streams{Stdout: &out, Stderr: &aside}}.gcCommand()
	c.SetArgs([]string{"--dry-run", "--engine", "tcp://127.0.0.1:1", "--engine", "tcp://" + s.Listener.Addr().String()})
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	must.Fail(t, err, "tcp://127.0.0.1:1", "list its services: The swarm does not have a leader")
	must.Equal(t, command.ExitEnvironment, command.ExitCode(err))
	must.Contain(t, out.String(), "would remove container left on engine", "of run 0123abcd")
}
