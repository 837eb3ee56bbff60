package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// server is a tare serve with the address that it prints.
type server struct {
	cmd *exec.Cmd
	at  string
}

// serving serves the runs below a directory on a free port, until the test ends.
func serving(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"serve", "runs", "--listen", "127.0.0.1:0"}, flags...)...)
	cmd.Args[0], cmd.Dir = "tare", dir
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must.Do(must.Named(t, "tare serve printed no address"), err)
	return &server{cmd, strings.TrimSpace(line)}
}

// host is the address and the port of the server.
func (s *server) host(t *testing.T) string {
	t.Helper()
	return must.Get(url.Parse(s.at))(t).Host
}

// fetch requests a page as a browser does, which keeps cookies.
func fetch(t *testing.T, at string) (code int, text string) {
	t.Helper()
	jar := must.Get(cookiejar.New(nil))(t)
	client := http.Client{Jar: jar, Timeout: 2 * time.Minute} // a server that is stuck
	resp := must.Get(client.Get(at))(t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(t)
	must.True(t, !strings.Contains(resp.Request.URL.String(), "token"), "the page is at %s", resp.Request.URL)
	return resp.StatusCode, string(body)
}

// got is a page.
func got(t *testing.T, at string) string {
	t.Helper()
	code, text := fetch(t, at)
	must.Require(t, code == http.StatusOK, "%s: code %d\n%s", at, code, text)
	return text
}

// On loopback, too, the pages need the token, unless the user says otherwise; without it they are
// never shown to a network.
func TestServeNeedsToken(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	must.Do(t, (synthetic.Shape{Modes: 2, Blocks: 3, Seed: 1}).Write(filepath.Join(top, "runs", "of-one-user")))
	with, without := serving(t, top), serving(t, top, "--no-token")
	must.True(t, strings.Contains(with.at, "/?token=") && !strings.Contains(without.at, "token"), "the addresses are %s, and without a token %s", with.at, without.at)
	for _, path := range []string{"/", "/run/of-one-user", "/events/of-one-user"} {
		resp := must.Get(http.Get("http://" + with.host(t) + path))(t)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		must.True(t, err == nil && resp.StatusCode == http.StatusForbidden && !strings.Contains(string(text), "of-one-user"),
			"%s without the token: %s, %v\n%s", path, resp.Status, err, text)
	}
	for _, at := range []string{with.at, without.at} {
		if text := got(t, at); !strings.Contains(text, "of-one-user") {
			t.Errorf("%s lists no run:\n%s", at, text)
		}
	}
	p := start(t, top, "serve", "runs", "--listen", "0.0.0.0:0", "--no-token")
	if code, said := p.wait(t), p.stderr.String(); code != 2 || !strings.Contains(said, "would show the runs to the network") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, want 2:\n%s", code, said)
	}
}
