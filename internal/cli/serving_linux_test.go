package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// server is a tare serve with the address that it prints.
type server struct {
	cmd *exec.Cmd
	at  string
}

// serving serves the runs below a directory on a free port, until the test ends.
func serving(t *testing.T, dir string) *server {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "serve", "runs", "--listen", "127.0.0.1:0")
	cmd.Args[0], cmd.Dir = "tare", dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("tare serve printed no address: %v", err)
	}
	return &server{cmd, strings.TrimSpace(line)}
}

// got is a page.
func got(t *testing.T, at string) string {
	t.Helper()
	client := http.Client{Timeout: 2 * time.Minute} // a server that is stuck
	resp, err := client.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", at, resp.Status, err, text)
	}
	return string(text)
}
