package pathspec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"tare/internal/driver"
)

// Survey reads the variables of driver.SurveyedSysctls and the packet filters.
func (s NamespaceStack) Survey(context.Context) (driver.Settings, error) {
	settings, err := s.NS.ReadSysctls(driver.SurveyedSysctls())
	if err != nil {
		return driver.Settings{}, err
	}
	out := driver.Settings{Sysctls: settings}
	filters, err := s.NS.Rules().Filters()
	if err != nil {
		out.NoFilters = err.Error()
	}
	for _, f := range filters {
		out.Filters = append(out.Filters, driver.Filter{Family: f.Family, Table: f.Table, Chain: f.Chain, Hook: f.Hook, Drops: f.Drops, Rules: f.Rules, All: f.All, Docker: f.Docker})
	}
	return out, nil
}

// ReadTracked reads the number of tracked connections.
func (s NamespaceStack) ReadTracked(context.Context) (t driver.ConnTrack, tracks bool, err error) {
	got, err := s.NS.ReadSysctls([]string{driver.SysctlConntrackCount, driver.SysctlConntrackMax})
	if errors.Is(err, fs.ErrPermission) {
		return t, false, nil // not readable, as in a user namespace
	}
	count, counts := got[driver.SysctlConntrackCount]
	most, limits := got[driver.SysctlConntrackMax]
	if err != nil || !counts || !limits {
		return t, false, err
	}
	if t.Count, err = strconv.ParseUint(count, 10, 53); err == nil {
		t.Max, err = strconv.ParseUint(most, 10, 53)
	}
	if err != nil {
		return t, false, fmt.Errorf("read the size of connection tracking in namespace %s: %w", s.NS.Name(), err)
	}
	return t, true, nil
}
