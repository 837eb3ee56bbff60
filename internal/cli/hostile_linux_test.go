package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"tare/internal/cli"
	"tare/internal/engine"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/synthetic"
)

// hostile are texts that a terminal would act on, or that look like others. Each contains
// "hostile" once it is cleaned.
func hostile() map[string]string {
	return map[string]string{
		"escape":    "\x1b[2J\x1b[31mhostile",
		"title":     "\x1b]0;hostile\x07\x1b\\",
		"C1":        "\u009b31mhost\u0090ile\u009c",
		"direction": "\u202ehost\u2066ile\u200f",
		"invisible": "host\u200b\u00ad\ufeffile\U000e0041",
		"line":      "host\b\rile\x7f\x0b",
	}
}

// unsafe returns the first character of a text that is not for a terminal, quoted, or "".
func unsafe(text string) string {
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			return strconv.QuoteToASCII(text[max(0, i-20):min(len(text), i+size+20)])
		}
	}
	return ""
}

// hostileEngine answers as an engine on which everything has such a name, or which refuses
// everything with such a message.
func hostileEngine(t *testing.T, text string, refuses bool) string {
	t.Helper()
	machine, _ := os.ReadFile("/etc/machine-id")
	sum := sha256.Sum256(append(machine, must.Get(os.Hostname())(t)...))
	labels := func(run string) map[string]string {
		return map[string]string{engine.LabelRun: run, engine.LabelMachine: hex.EncodeToString(sum[:4]), engine.LabelPart: text}
	}
	answers := map[string]any{
		"/version": map[string]any{"Version": text, "ApiVersion": "1.48", "Os": "linux", "Arch": "amd64"},
		"/info":    map[string]any{"ServerVersion": text, "OSType": "linux", "Name": text},
		"/containers/json": []any{
			map[string]any{"Id": "1", "Names": []string{"/" + text}, "Labels": labels("deadbeef")},
			map[string]any{"Id": "2", "Names": []string{"/two"}, "Labels": labels(text)},
		},
		"/networks":    []any{map[string]any{"Id": "3", "Name": text, "Scope": "local", "Labels": labels("deadbeef")}},
		"/images/json": []any{map[string]any{"Id": "4", "RepoTags": []string{text + ":" + text}, "Labels": labels("deadbeef")}},
	}
	path := filepath.Join(t.TempDir(), "docker.sock")
	l := must.Get(net.Listen("unix", path))(t)
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.48")
		w.Header().Set("Content-Type", "application/json")
		at := r.URL.Path
		if rest, ok := strings.CutPrefix(at, "/v1.48"); ok {
			at = rest
		}
		answer, known := answers[at]
		if r.Method != http.MethodGet || refuses && at == "/containers/json" || !known && at != "/_ping" {
			w.WriteHeader(http.StatusInternalServerError)
			answer = map[string]string{"message": text}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			panic(http.ErrAbortHandler)
		}
	})}
	go func() { _ = s.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = s.Close() })
	return "unix://" + path
}

// hostileRun writes the directory of a run in which such a text is the name of a mode and in
// titles, and returns its path.
func hostileRun(t *testing.T, dir, text string) string {
	t.Helper()
	must.Do(t, (synthetic.Shape{Modes: 2, Blocks: 4, Seed: 1}).Write(dir))
	inner := strings.Trim(string(must.Get(json.Marshal(text))(t)), `"`)
	for _, name := range []string{store.RunFile, store.TrialsFile} {
		data := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		changed := strings.NewReplacer("netns/m1", "netns/"+inner, "A synthetic mode", inner, "Linux 6.18.44", inner, "synthetic: its", inner).Replace(string(data))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600))
	}
	return dir
}

// Whatever text comes from elsewhere, a terminal gets nothing of it but what can be seen.
func TestHostileText(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			t.Chdir(top)
			for _, env := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "TARE_RUNS"} {
				t.Setenv(env, "")
			}
			write := func(name, content string) string {
				must.Do(t, os.WriteFile(name, []byte(content), 0o600))
				return name
			}
			runs := filepath.Join(top, "runs-"+text)
			run := hostileRun(t, filepath.Join(runs, "run-"+text), text)
			plain := filepath.Join(top, "plain")
			must.Do(t, (synthetic.Shape{Modes: 2, Blocks: 4, Seed: 2}).Write(plain))
			quoted := must.Get(json.Marshal(text))(t)
			study := write("study-"+text, "name: s\nmodes: [{mode: netns/bridge, title: "+string(quoted)+"}]\nworkloads: [tcp_rr]\n")
			unknown := write("unknown", "name: s\nmodes: [host]\n"+string(quoted)+": 1\n")
			numbers := write("numbers-"+text+".csv", "mode,value\nhost,1\nhost,2\nhost,3\n\""+text+"\",1\n\""+text+"\",2\n\""+text+"\",3\n")
			open, refuses := hostileEngine(t, text, false), hostileEngine(t, text, true)
			for _, c := range []struct {
				env  string // TARE_RUNS, DOCKER_HOST or DOCKER_CONTEXT is the text
				args []string
			}{
				{"", []string{"gc", "--dry-run", "--engine", open}},
				{"", []string{"gc", "--engine", refuses}},
				{"", []string{"gc", "--engine", text}},
				{"DOCKER_HOST", []string{"gc", "--dry-run"}},
				{"DOCKER_CONTEXT", []string{"gc", "--dry-run"}},
				{"", []string{"plan", study}},
				{"", []string{"plan", unknown}},
				{"", []string{"plan", text}},
				{"", []string{"plan", "--modes", text}},
				{"", []string{"run", text}},
				{"", []string{"run", "--resume", text}},
				{"", []string{"run", "--out", run}},
				{"", []string{"report", run}},
				{"", []string{"report", "--full", run}},
				{"", []string{"report", "--quiet", run}},
				{"", []string{"report", text}},
				{"", []string{"report", "--claims", run}},
				{"", []string{"claims", text}},
				{"", []string{"claims", "--runs", text}},
				{"", []string{"claims", "--format", text}},
				{"", []string{"compare", plain, run}},
				{"", []string{"compare", "--format", "md", plain, run}},
				{"", []string{"check", "--baseline", plain, run}},
				{"", []string{"combine", "--full", plain, run}},
				{"", []string{"export", run}},
				{"", []string{"export", "--format", "md", run}},
				{"", []string{"export", "--format", "openmetrics", run}},
				{"", []string{"export", "--format", text, run}},
				{"", []string{"ls", runs}},
				{"", []string{"ls", text}},
				{"TARE_RUNS", []string{"ls"}},
				{"", []string{"judge", numbers}},
				{"", []string{"judge", "--full", numbers}},
				{"", []string{"judge", "--rank", numbers}},
				{"", []string{"judge", text}},
				{"", []string{"modes", text}},
				{"", []string{"doctor", "--modes", text}},
				{"", []string{"serve", text}},
				{"", []string{"completion", "bash", text}},
				{"TARE_RUNS", []string{"__complete", "report", ""}},
				{"", []string{text}},
				{"", []string{"--" + text}},
			} {
				t.Run(strings.Join(append([]string{c.env}, c.args[:1]...), " "), func(t *testing.T) {
					if c.env != "" {
						t.Setenv(c.env, text)
					}
					if c.args[0] == "__complete" {
						t.Setenv(c.env, runs)
					}
					var stdout, stderr bytes.Buffer
					app := cli.New(result.Build{Version: "test"})
					app.Program, app.Stdout, app.Stderr = "tare", &stdout, &stderr
					code := app.Main(t.Context(), c.args)
					for stream, said := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
						if bad := unsafe(said); bad != "" {
							t.Errorf("%s of %q has %s", stream, c.args, bad)
						}
					}
					// Else this tests nothing.
					if all := stdout.String() + stderr.String(); !strings.Contains(all, "ile") && !strings.Contains(all, "control character") {
						t.Errorf("%q (exit code %d) does not show the text:\n%s", c.args, code, all)
					}
				})
			}
		})
	}
}

// On a terminal the colours of a report pass, and nothing else that a terminal would act on.
func TestHostileTextInColour(t *testing.T) {
	t.Parallel()
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			before, after := hostileRun(t, filepath.Join(top, "before"), text), hostileRun(t, filepath.Join(top, "after"), text)
			for _, args := range [][]string{{"report", after}, {"report", "--full", after}, {"compare", before, after}} {
				a := runAt(t, 120, 40, []string{"NO_COLOR=", "TERM=xterm-256color"}, args...)
				code := ended(t, a.cmd)
				<-a.read
				said := a.raw.String()
				must.True(t, code == 0 && strings.Contains(said, "ile") && colour.MatchString(said), "%q: exit code %d, without the text or without colours:\n%s", args, code, said)
				plain := strings.ReplaceAll(colour.ReplaceAllString(said, ""), "\r\n", "\n")
				if bad := unsafe(plain); bad != "" {
					t.Errorf("%q prints %s", args, bad)
				}
			}
		})
	}
}
