package machine

import (
	"fmt"
	"testing"

	"tare/internal/testkit/must"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Address{
		"local":                 {},
		"ssh://db1":             {Host: "db1"},
		"ssh://me@db1:2222":     {User: "me", Host: "db1", Port: 2222},
		"ssh://[2001:2::1]:22":  {Host: "2001:2::1", Port: 22},
		"ssh://me@198.18.0.1:1": {User: "me", Host: "198.18.0.1", Port: 1},
	} {
		got, err := Parse(text)
		must.EqualFor(t, fmt.Sprintf("Parse(%q)", text), []any{nil, want}, []any{err, got})
		must.EqualFor(t, fmt.Sprintf("%#v", got), text, got.String())
	}
	for _, text := range []string{"", "db1", "ssh://", "ssh://-oProxyCommand=x", "ssh://-o@db1", "ssh://me:secret@db1", "ssh://db1/path", "ssh://db1:0", "ssh://db1:65536", "ssh://a b", "ssh://db1;id", "docker"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %+v; want an error", text, got)
		}
	}
}
