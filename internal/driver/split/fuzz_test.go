package split

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/machine"
	"tare/internal/testkit/must"
)

// FuzzHalf checks that whatever the process on another machine replies is an error, or a path
// in which everything belongs to one of the two hosts.
func FuzzHalf(f *testing.F) {
	f.Add(`{"pairs":[{"client":{"name":"a/client","host":"a","stack":"a/client","fd":3},"server":{"name":"b","host":"b","stack":"b","fd":4,"listen":["198.18.0.2:0"],"dial":["198.18.0.2:0"]}}],` +
		`"stacks":[{"name":"a","reads":true},{"name":"b"}],"rules":[{"Counter":"a/eth0.tx_bytes"},{"Counter":"b/eth0.rx_bytes"}],"facts":[{"name":"x","value":"y"}]}`)
	f.Add(`{"pairs":[{"client":{"host":"c"}}]}`)
	f.Add(`{"pairs":[{"client":{"host":"b","name":"a#2"},"server":{"host":"b","dial":["1.1.1.1:1"]}}],"rules":[{"Counter":""},{"Counter":"ab/x"}]}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		var own, far built
		if json.Unmarshal([]byte(text), &far) != nil {
			return
		}
		must.Do(t, json.Unmarshal([]byte(`{"pairs":[{"client":{"name":"a","host":"a"},"server":{"name":"b","host":"b"}}]}`), &own))
		names := []string{"one", "two"}
		b := &both{}
		for i, side := range sides() {
			b.halves = append(b.halves, &half{side: side, host: Host{Name: names[i], Machine: machine.Local(names[i])}})
		}
		p, err := b.path([]built{own, far})
		if err != nil {
			return
		}
		of := func(name string) string {
			host, _, _ := strings.Cut(name, "/")
			return host
		}
		for _, r := range p.Rules {
			if !slices.Contains(names, of(r.Counter)) {
				t.Errorf("the counter %q belongs to no host", r.Counter)
			}
		}
		for _, n := range p.Stacks {
			if !slices.Contains(names, of(n.Name)) {
				t.Errorf("the stack %q belongs to no host", n.Name)
			}
		}
		for _, one := range p.Pairs {
			for _, e := range []driver.Endpoint{one.Client, one.Server} {
				if !slices.Contains(names, e.Host) || len(e.Listen) != len(e.Dial) {
					t.Errorf("the endpoint %+v", e)
				}
			}
		}
	})
}
