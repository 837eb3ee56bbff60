package runner

import (
	"testing"

	"tare/internal/agent/wire"
)

func TestCommonCongestion(t *testing.T) {
	end := func(standard string, more ...string) endCongestion {
		return endCongestion{"the client of m", wire.Congestions{Default: standard, Settable: append([]string{standard}, more...)}}
	}
	for name, c := range map[string]struct {
		ends []endCongestion
		want string
	}{
		"all allow cubic":      {[]endCongestion{end("bbr", "cubic", "reno"), end("cubic")}, "cubic"},
		"a common default":     {[]endCongestion{end("bbr", "cubic", "reno"), end("bbr", "reno")}, "bbr"},
		"different defaults":   {[]endCongestion{end("bbr", "reno"), end("dctcp", "reno")}, "reno"},
		"one of two has cubic": {[]endCongestion{end("cubic", "reno"), end("bbr", "reno")}, "reno"},
	} {
		if got := commonTo(c.ends); got == nil || got.Name != c.want || got.Reason == "" {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
	if got := commonTo(nil); got != nil {
		t.Errorf("without an endpoint that tells: %+v", got)
	}
}
