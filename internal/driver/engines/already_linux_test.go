package engines_test

import (
	"slices"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// The further ports are published and the further containers run, and the path is proven beside them.
func TestEnginesAlready(t *testing.T) {
	drivertest.NeedEngine(t)
	o := drivertest.Order(t, "docker/published", 1, nil)
	o.With = map[string]string{"ports": "5", "containers": "6"}
	s := drivertest.Build(t, engines.Docker{}, o)
	for name, value := range map[string]string{"b published ports": "6", "b further containers": "6"} {
		must.True(t, slices.Contains(s.Path.Facts, result.Fact{Name: name, Value: value}), "%s is not %s in %v", name, value, s.Path.Facts)
	}
	_, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false)
	must.Do(t, err)
}

// Each of these settings is a number, for which setting up takes longer.
func TestAlreadySettings(t *testing.T) {
	for _, m := range (engines.Docker{}).Modes() {
		for name, over := range map[string]string{"ports": "1001", "containers": "401"} {
			i := slices.IndexFunc(m.Own, func(o driver.OwnSetting) bool { return o.Name == name })
			if has := m.ID == "docker/published" || m.ID == "docker/bridge"; has != (i >= 0) {
				t.Errorf("%s has the setting %s: %t", m.ID, name, i >= 0)
			}
			for value, valid := range map[string]bool{"1": true, "400": true, "0": false, over: false, "-1": false, "01": false, "ten": false, study.Off: false} {
				if i >= 0 && m.Own[i].Valid(value) != valid {
					t.Errorf("%s: %s is valid: %t", name, value, !valid)
				}
			}
		}
		if m.ID == "docker/bridge" {
			must.Equal(t, 33*time.Second, m.SettingsTake(map[string]string{"ports": "100", "containers": "100", "conntrack": study.Off}))
		}
	}
}
