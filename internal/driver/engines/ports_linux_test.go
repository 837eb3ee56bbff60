package engines_test

import (
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// The further ports of the setting are published, and the path is proven beside them.
func TestEnginesMorePorts(t *testing.T) {
	drivertest.NeedEngine(t)
	o := drivertest.Order(t, "docker/published", 1, nil)
	o.With = map[string]string{"ports": "5"}
	s := drivertest.Build(t, engines.Docker{}, o)
	must.Equal(t, true, slices.Contains(s.Path.Facts, result.Fact{Name: "b published ports", Value: "6"}))
	_, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false)
	must.Do(t, err)
}

// The setting is a number of ports.
func TestPortsSetting(t *testing.T) {
	for _, m := range (engines.Docker{}).Modes() {
		i := slices.IndexFunc(m.Own, func(o driver.OwnSetting) bool { return o.Name == "ports" })
		if has := m.ID == "docker/published" || m.ID == "docker/bridge"; has != (i >= 0) {
			t.Errorf("%s has the setting ports: %t", m.ID, i >= 0)
		}
		for value, valid := range map[string]bool{"1": true, "1000": true, "0": false, "1001": false, "-1": false, "01": false, "ten": false, study.Off: false} {
			if i >= 0 && m.Own[i].Valid(value) != valid {
				t.Errorf("ports: %s is valid: %t", value, !valid)
			}
		}
	}
}
