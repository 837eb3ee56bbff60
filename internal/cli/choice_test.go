package cli_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"tare/internal/cli"
	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A plan without a study is that of what the machine has, and says so; a study, a mode or an engine that is named is not overruled.
func TestChosenStudy(t *testing.T) {
	t.Parallel()
	root := errors.New("needs root")
	for name, tt := range map[string]struct {
		found    hosts.Found
		args     []string
		said     string // on stderr; empty: nothing
		measures string
		not      string
	}{
		"private engines":       {hosts.Found{Installed: true}, nil, "private engines", "docker/published", "netns/"},
		"an engine that runs":   {hosts.Found{Private: root, Engine: "unix:///none.sock"}, nil, "the engine unix:///none.sock", "docker/to-host", "netns/"},
		"one that is refused":   {hosts.Found{Private: root, Refused: "permission denied"}, nil, "permission denied", "netns/published", "docker/"},
		"none":                  {hosts.Found{Private: root}, nil, "namespaces, not Docker", "netns/published", "docker/"},
		"a study that is named": {hosts.Found{Installed: true}, []string{"default"}, "", "netns/published", "docker/"},
		"modes that are named":  {hosts.Found{Installed: true}, []string{"--modes", "netns/vxlan"}, "", "netns/vxlan", "docker/"},
		"the lab":               {hosts.Found{Private: root, Engine: "docker"}, []string{"--engine", "lab"}, "", "netns/published", "docker/"},
		"traffic that is named": {hosts.Found{Installed: true}, []string{"--for", "web"}, "private engines", "web_keepalive", "tcp_stream"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			app := cli.New(result.Build{Version: "test"})
			app.Stdout, app.Stderr, app.Look = &stdout, &stderr, func(context.Context) hosts.Found { return tt.found }
			if code := app.Main(t.Context(), append([]string{"plan"}, tt.args...)); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr.String())
			}
			must.Contain(t, stdout.String(), tt.measures)
			must.NotContain(t, stdout.String(), tt.not)
			must.Contain(t, stderr.String(), tt.said)
			if tt.said == "" {
				must.Equal(t, "", stderr.String())
			}
		})
	}
}

// The workloads say what they stand for, and each has its keys; a wrong name suggests.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		app := cli.New(result.Build{Version: "test"})
		app.Stdout, app.Stderr = &out, &errs
		code = app.Main(t.Context(), append([]string{"workloads"}, args...))
		return code, out.String(), errs.String()
	}
	_, list, _ := run()
	must.Contain(t, list, "tcp_crr", "a connection for each request", "web", "udp_search")
	_, keys, _ := run("tcp_rr", "udp_stream")
	must.Contain(t, keys, "request_size", "bytes of a request", "packet_rate")
	code, _, stderr := run("tcp_r")
	must.Equal(t, 2, code)
	must.Contain(t, stderr, `did you mean "tcp_rr"?`)
}
