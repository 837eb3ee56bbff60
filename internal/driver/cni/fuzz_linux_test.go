package cni_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tare/internal/driver/cni"
)

// FuzzConflist checks that any text is an error on one line, or a conflist with a name and with
// plugins whose types are names of programs.
func FuzzConflist(f *testing.F) {
	f.Add([]byte(`{"cniVersion": "1.0.0", "name": "x", "plugins": [{"type": "ptp", "mtu": {{.MTU}}, "ipam": {"type": "host-local", "subnet": "{{.PodCIDR}}"}}]}`))
	f.Add([]byte(`{"name": "x", "type": "bridge"}`))
	f.Add([]byte(`{{range .PodCIDRRanges}}{{end}}`))
	f.Add([]byte("{\"name\": \"\x1b[31m\",\n\"plugins\": [7]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name, plugins, err := cni.ParseConflist(text, cni.Values{PodCIDR: "198.18.1.0/24", PodCIDRRanges: []string{"198.18.1.0/24"}, MTU: 1500})
		if err != nil {
			return
		}
		if name == "" || len(plugins) == 0 || slices.ContainsFunc(plugins, func(p string) bool { return strings.Contains(p, "/") || p == ".." }) {
			t.Errorf("accepted name %q, plugins %q", name, plugins)
		}
	})
}

// FuzzPluginError checks that whatever a plugin says is one short line without control characters.
func FuzzPluginError(f *testing.F) {
	f.Add([]byte(`{"code": 7, "msg": "no luck", "details": "today"}`), "")
	f.Add([]byte(`{"msg": "one\ntwo\u001b[31m"}`), "words")
	f.Add([]byte("<html>"), "")
	f.Add([]byte{}, "one\ntwo\xff")
	f.Fuzz(func(t *testing.T, stdout []byte, stderr string) {
		text := cni.PluginError(stdout, stderr, errors.New("exit status 1")).Error()
		if text == "" || len(text) > 600 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q", text)
		}
	})
}
