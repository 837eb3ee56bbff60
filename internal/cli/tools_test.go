package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// What the external generator of a workload, or the one that verifies it, does not support is an error of the study before anything is
// built: one line with the key and the tool.
func TestToolsRefuse(t *testing.T) {
	t.Parallel()
	for workload, want := range map[string]string{
		"{workload: http, tool: wrk, tls: on}":                                                 `tls is "on", and tool is "wrk": wrk does not check the certificate`,
		"{workload: http, verify_with: wrk, tls: on}":                                          `tls is "on", and verify_with is "wrk": wrk does not check the certificate`,
		"{workload: http, verify_with: h2load, keep_alive: off}":                               `keep_alive is "off", and verify_with is "h2load": h2load is run for connections that stay open only`,
		"{workload: http, verify_with: wrk, transaction_rate: 100}":                            `transaction_rate is "100", and verify_with is "wrk"`,
		"{workload: http, verify_with: h2load, with_load: tcp_stream}":                         `with_load is "tcp_stream", and verify_with is "h2load"`,
		"{workload: http2, verify_with: h2load, send_buffer: 64KiB}":                           `and verify_with is "h2load": h2load sets no socket buffers; set send_buffer to auto`,
		"{workload: tcp_stream, verify_with: ntttcp, direction: reverse}":                      `direction is "reverse", and verify_with is "ntttcp": it does not support direction reverse, only forward`,
		"{workload: tcp_stream, verify_with: iperf3, send_buffer: 1MiB, receive_buffer: 2MiB}": `and verify_with is "iperf3": it sets both buffers to one size`,
		"{workload: udp_stream, verify_with: iperf2, offload: on}":                             `offload is "on", and verify_with is "iperf2"`,
		"{workload: udp_stream, verify_with: iperf3, scheduling: fifo}":                        `scheduling is "fifo", and verify_with is "iperf3": iperf3 runs without real-time priority; remove scheduling`,
		"{workload: udp_stream, verify_with: iperf3, burst: 8}":                                "", // ignored, with a note
		"{workload: http, verify_with: wrk, flows: 4}":                                         "",
	} {
		file := filepath.Join(t.TempDir(), "s.yaml")
		must.Do(t, os.WriteFile(file, []byte("modes: [host]\nworkloads: ["+workload+"]\n"), 0o600))
		var stdout, stderr bytes.Buffer
		app := cli.New(result.Build{Version: "test"})
		app.Stdout, app.Stderr = &stdout, &stderr
		code, said := app.Main(t.Context(), []string{"plan", "--engine", "lab", file}), stderr.String()
		switch {
		case want == "" && code != 0:
			t.Errorf("%s: exit code %d: %s", workload, code, said)
		case want != "" && (code != 2 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "s.yaml:2: ") || !strings.Contains(said, want)):
			t.Errorf("%s: exit code %d: %s; want 2 and %s", workload, code, said, want)
		}
	}
}
