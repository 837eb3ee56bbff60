package locate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/engine"
	"tare/internal/testkit/must"
)

// FuzzResolve checks that any name of an engine is an error on one line with its fix, or an
// address with one of the known schemes; and the same of any content of the docker command's files.
func FuzzResolve(f *testing.F) {
	const meta = `{"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":"tcp://192.0.2.1:2376","SkipTLSVerify":false}}}`
	for _, target := range []string{"", "docker", "docker:far", "docker:../../x", "unix:///var/run/docker.sock", "tcp://[::1", "tcp://a:99999", "ssh://u@h:22", "ssh://h/x", "ssh://-oProxyCommand=x", "npipe://x", "x", "tcp://a\nb", "docker:a\nb", "ssh://\n"} {
		f.Add(target, `{"currentContext":"far"}`, meta)
	}
	f.Add("docker", `{"currentContext":"`+"a\\nb"+`"}`, `{}`)
	f.Add("docker", `{"currentContext":1}`, meta)
	f.Add("docker:far", "", `{"Name":"far","Endpoints":{"docker":{"Host":"\u001b[31m"}}}`)
	f.Add("docker:far", "", `{"Name":"far","Endpoints":{"docker":{"Host":"0"}}}`)
	dir := f.TempDir()
	// The name of a context's directory is the hash of "far".
	const far = "contexts/meta/512eea46ceb3921dff4363c7069d89d4964d1d9fccaa0f411851a7aa60a5c868"
	must.Do(f, os.MkdirAll(filepath.Join(dir, far), 0o700))
	for _, name := range []string{envHost, envContext, envCerts, envTLS, envVerify} {
		f.Setenv(name, "")
	}
	f.Setenv(envConfig, dir)
	f.Fuzz(func(t *testing.T, target, config, meta string) {
		for name, text := range map[string]string{"config.json": config, far + "/meta.json": meta} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		s, err := resolve(target)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error %q is not on one line", err)
			}
			return
		}
		e, err := engine.New(s.name, engine.Local{}, s.options...)
		if err != nil {
			return // Connect gives it with its fix
		}
		_ = e.Disconnect() // it has no connection
		if scheme, rest, ok := strings.Cut(s.host, "://"); !ok || scheme == "" || rest == "" {
			t.Errorf("%q is the engine at %q", target, s.host)
		}
	})
}
