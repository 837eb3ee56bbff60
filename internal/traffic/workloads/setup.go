package workloads

import (
	"context"
	"errors"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// setUp measures how long it takes to set a mode up, until its server answers. The controller runs its trials: it has no
// generator, and agents have no part in it.
type setUp struct{}

// errNoTraffic is the answer of an endpoint that is asked for traffic.
var errNoTraffic = errors.New("the workload setup has no traffic that an agent could generate (a bug)")

func (setUp) Spec() traffic.Spec {
	return traffic.Spec{Title: "Set-up of a mode", StandsFor: "a container that starts: how long until it is reached", WorkloadSpec: study.WorkloadSpec{
		Kind:     study.SetupKind,
		Metric:   result.SetupFirstByte,
		Params:   []string{"family"},
		Defaults: study.Workload{Family: study.IPv4},
	}}
}

func (setUp) Listen(traffic.Params) (traffic.Server, error) { return nil, errNoTraffic }

func (setUp) Dial(context.Context, traffic.Params, traffic.Peer) (traffic.Report, error) {
	return traffic.Report{}, errNoTraffic
}

func (setUp) Metrics(traffic.Params, traffic.Report, traffic.Report) (map[string]float64, *result.Series) {
	return nil, nil
}
