package guest

import (
	"context"
	"errors"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// Stack is a network stack of a guest. The guest's first process reads it with the code that reads
// those of this machine. It implements the interfaces of the package that describes paths.
type Stack struct {
	m  *Machine
	ns string
}

// A path finds out by assertion what its stacks support.
var (
	_ pathspec.Reader         = Stack{}
	_ pathspec.SettingsReader = Stack{}
	_ transport.SlowLauncher  = launcher{}
)

// Stack returns that of a sandbox of the guest, or with "" that of the guest itself.
func (m *Machine) Stack(ns string) Stack { return Stack{m, ns} }

// Links reads the counters of devices.
func (s Stack) Links(ctx context.Context, names []string) (map[string]pathspec.Link, error) {
	r, err := s.m.remote.call(ctx, request{Op: opLinks, NS: s.ns, Names: names})
	return r.Links, err
}

// Describe reads the kind and settings of a device.
func (s Stack) Describe(ctx context.Context, name string) (string, []result.Fact, error) {
	r, err := s.m.remote.call(ctx, request{Op: opDescribe, NS: s.ns, Names: []string{name}})
	return r.Kind, r.Facts, err
}

// Read reads all counters.
func (s Stack) Read(ctx context.Context) (netstack.Reading, error) {
	r, err := s.m.remote.call(ctx, request{Op: opRead, NS: s.ns})
	if err != nil || r.Reading == nil {
		return netstack.Reading{}, errors.Join(err, none(r.Reading == nil))
	}
	return *r.Reading, nil
}

// Survey reads the settings and the packet filters.
func (s Stack) Survey(ctx context.Context) (driver.Settings, error) {
	r, err := s.m.remote.call(ctx, request{Op: opSurvey, NS: s.ns})
	if err != nil || r.Stack == nil {
		return driver.Settings{}, errors.Join(err, none(r.Stack == nil))
	}
	return *r.Stack, nil
}

// ReadTracked reads the number of tracked connections.
func (s Stack) ReadTracked(ctx context.Context) (t driver.ConnTrack, tracks bool, err error) {
	r, err := s.m.remote.call(ctx, request{Op: opTracked, NS: s.ns})
	if err != nil || r.Tracked == nil {
		return t, false, err
	}
	return *r.Tracked, true, nil
}

// Counts reads the counters of an nftables table.
func (s Stack) Counts(ctx context.Context, table string) (map[string]linuxnet.Count, error) {
	r, err := s.m.remote.call(ctx, request{Op: opCounts, NS: s.ns, Table: table})
	return r.Counts, err
}

// FlushTracked empties the connection tracking table.
func (s Stack) FlushTracked(ctx context.Context) error {
	_, err := s.m.remote.call(ctx, request{Op: opFlushTracked, NS: s.ns})
	return err
}

func none(is bool) error {
	if !is {
		return nil
	}
	return errors.New("the guest replied without the requested values")
}
