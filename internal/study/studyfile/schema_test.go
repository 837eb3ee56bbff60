package studyfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	yaml "go.yaml.in/yaml/v3"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// schemaCheck gives a function that holds a YAML text against the schema, as an
// editor would.
func schemaCheck(t *testing.T) func(text []byte) error {
	t.Helper()
	raw := must.Get(makeSchema(studytest.Catalog()))(t)
	var s jsonschema.Schema
	must.Do(t, json.Unmarshal(raw, &s))
	resolved := must.Get(s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}))(t)
	return func(text []byte) error {
		var doc any
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return err
		}
		return resolved.Validate(doc)
	}
}

// TestSchemaAgrees: the schema and Decode say the same about these files.
func TestSchemaAgrees(t *testing.T) {
	check := schemaCheck(t)
	for _, c := range []struct {
		good bool
		src  string
	}{
		{true, everything},
		{true, "{}"},
		{true, "modes: [host]\nworkloads: [tcp_rr, tcp_stream]"},
		{true, "workloads: [{workload: tcp_stream, write_size: '1400', send_buffer: 4KiB, warmup: 0s}]"},
		{true, "lab: {rate: 1000000}"},
		{true, "settle: 0"},
		{true, "modes: [host, {mode: docker/bridge, id: A, title: x, limits: {client: {cpus: 0.5, memory: 6MiB}}}, docker/network:My.Net]"},
		{true, "modes: [{mode: 'docker/driver:a/b:c', options: {mtu: 9000, x: yes, y: '', z: 1.5}}]"},
		{true, "limits: {server: {memory: 6291456}}"},
		{true, "scenarios: [{id: A, mode: host, workload: tcp_rr}]"},
		{true, "compare: [{a: A, b: B}]"},
		{true, "engine: docker:my-context"},
		{true, "hosts: [{engine: docker, address: 192.0.2.1}, {name: b, engine: 'ssh://u@b', address: '2001:db8::1'}]"},
		{true, "hosts: [{machine: local}, {machine: 'ssh://me@db1:2222'}]"},
		{true, "hosts: [{name: x, machine: 'ssh://[2001:db8::1]'}, {machine: 'ssh://db1', address: 192.0.2.1}]"},
		{true, "modes: [vm/virtio]"},
		{true, "stop: {}"},
		{true, "stop: {min_blocks: 2, width: 0.01, extra_blocks: 1}\ncontrol: true\npilot: 0\nrenew: auto"},
		{true, "control: false\nrenew: 3\npilot: 15s\ninvalid: {steal: off, others: 0.1, unsettled: off, most: 1}"},
		{true, "modes: [{mode: host, id: slow, lab: {rate: 900Mbit/s, mtu: 1400}}]"},
		{true, "workloads: [{workload: tcp_rr, every: 2, times: 3, duration_min: 1s, duration_max: 2s}]"},
		{true, "compare: [{a: [A, B], b: [C, D], expect: 2}]"},
		{true, "evidence: {}\ncost_pass: {}"},
		{true, "evidence: {counters: off, stacks: auto, drops: on}"},
		{true, "cost_pass: {rate: 1Gbit/s, from_block: 1, every: 2, times: 3, warmup: 0, duration: 3s}"},
		{true, "cost_pass: {rate: auto}"},
		{true, "cost_pass: {rate: off}"},
		{false, "evidence: on"},
		{false, "evidence: {counters: auto}"},
		{false, "evidence: {stacks: true}"},
		{false, "cost_pass: auto"},
		{false, "cost_pass: {rate: half}"},
		{false, "cost_pass: {rate: 10}"},
		{false, "cost_pass: {from_block: 0}"},
		{false, "cost_pass: {duration: 0}"},
		{false, "stop:"},
		{false, "stop: 5"},
		{false, "stop: {width: 0}"},
		{false, "stop: {extra_blocks: 0}"},
		{false, "stop: {min: 5}"},
		{false, "control: 'yes'"},
		{false, "renew: never"},
		{false, "renew: 0"},
		{false, "renew: 1.5"},
		{false, "invalid: {steal: 0}"},
		{false, "invalid: {steal: 1.5}"},
		{false, "invalid: {most: none}"},
		{false, "invalid: {unsettled: true}"},
		{false, "modes: [{mode: host, id: slow, lab: {rate: 9}}]"},
		{false, "modes: [{mode: host, id: slow, lab: slow}]"},
		{false, "workloads: [{workload: tcp_rr, every: 0}]"},
		{false, "workloads: [{workload: tcp_rr, times: many}]"},
		{false, "compare: [{a: [A], b: B}]"},
		{false, "compare: [{a: [A, B, C], b: [C, D]}]"},
		{false, "compare: [{a: {A: B}, b: B}]"},
		{false, "compare: [{a: [A, 5], b: [B, C]}]"},
		{false, "compare: [{a: A, b: B, expect: 0}]"},
		{false, "modes: [docker/network]"},
		{false, "modes: ['docker/network:']"},
		{false, "modes: [docker/network:-x]"},
		{false, "modes: [{id: a}]"},
		{false, "modes: [{mode: docker/bridge, colour: red}]"},
		{false, "modes: [{mode: docker/bridge, limits: {client: {cpus: 0}}}]"},
		{false, "modes: [{mode: docker/bridge, limits: {cpus: 1}}]"},
		{false, "modes: [{mode: 'docker/driver:x', options: {a: [b]}}]"},
		{false, "modes: [{mode: 'docker/driver:x', options: {}}]"},
		{false, "limits: {client: {cpus: 1025}}"},
		{false, "scenarios: [{id: A, mode: host}]"},
		{false, "scenarios: []"},
		{false, "compare: [{a: A}]"},
		{false, "engine: podman"},
		{false, "engine: ''"},
		{false, "hosts: [{engine: docker, address: 192.0.2.1}]"},
		{false, "hosts: [{engine: docker, address: here}, {engine: docker, address: 192.0.2.1}]"},
		{false, "hosts: [{machine: local}, {engine: docker, address: 192.0.2.1}]"},
		{false, "hosts: [{machine: local, engine: docker, address: 192.0.2.2}, {machine: 'ssh://b'}]"},
		{false, "hosts: [{name: a}, {machine: 'ssh://b'}]"},
		{false, "hosts: [{engine: docker}, {engine: 'docker:b', address: 192.0.2.1}]"},
		{false, "hosts: [{machine: 'ssh://-oProxyCommand=x'}, {machine: local}]"},
		{false, "hosts: [{machine: 'ssh://me:secret@b'}, {machine: local}]"},
		{false, "hosts: [{machine: 'ssh://b/dir'}, {machine: local}]"},
		{false, "hosts: [{machine: b}, {machine: local}]"},
		{false, "foo: 1"},
		{false, "modes: host"},
		{false, "modes: []"},
		{false, "modes:"},
		{false, "modes: [host, host]"},
		{false, "modes: [netns/bridg]"},
		{false, "modes: [5]"},
		{false, "workloads: []"},
		{false, "workloads: [udp]"},
		{false, "workloads: [tcp_rr, tcp_rr]"},
		{false, "workloads: [{streams: 2}]"},
		{false, "workloads: [{workload: tcp_rr, streams: 2}]"},
		{false, "workloads: [{workload: tcp_stream, streams: 0}]"},
		{false, "workloads: [{workload: tcp_stream, streams: 1001}]"},
		{false, "workloads: [{workload: tcp_stream, streams: many}]"},
		{false, "workloads: [{workload: tcp_stream, no_delay: 'yes'}]"},
		{false, "workloads: [{workload: tcp_stream, no_delay:}]"},
		{false, "workloads: [{workload: tcp_stream, write_size: 0}]"},
		{false, "workloads: [{workload: tcp_stream, write_size: 1.5KiB}]"},
		{false, "workloads: [{workload: tcp_stream, direction: back}]"},
		{false, "workloads: [{workload: tcp_rr, congestion_control: CUBIC}]"},
		{false, "workloads: [{workload: tcp_rr, warmup: 5}]"},
		{false, "workloads: [{workload: tcp_rr, warmup: -1s}]"},
		{false, "workloads: [{workload: tcp_rr, duration: 0}]"},
		{false, "workloads: [{workload: tcp_rr, id: A b}]"},
		{false, "name: A"},
		{false, "name: 5"},
		{false, "title: \"a\\nb\""},
		{false, "title: " + strings.Repeat("x", 201)},
		{false, "profile: fast"},
		{false, "seed: 0"},
		{false, "seed: 9007199254740992"},
		{false, "blocks: 1"},
		{false, "blocks: 2.5"},
		{false, "margin: 0.6"},
		{false, "margin: 5%"},
		{false, "max_time: 5"},
		{false, "lab: {mtu: 576}"},
		{false, "lab: {rate: 1GB}"},
		{false, "lab: {rate: 10}"},
		{false, "lab: {offload: true}"},
		{false, "lab: {foo: 1}"},
		{false, "lab:"},
		{false, "- host"},
	} {
		_, decoded := studyfile.Decode("s.yaml", []byte(c.src), studytest.Catalog())
		got := decoded == nil
		must.True(t, got == c.good, "Decode %q: %v", c.src, decoded)
		schema := check([]byte(c.src))
		if got := schema == nil; got != c.good {
			t.Errorf("schema on %q: %v", c.src, schema)
		}
	}
}

// TestBadCatalog: a registry that names a parameter that no workload
// has is found out when the schema is made, and when a study is resolved.
func TestBadCatalog(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads[1].Params = append(cat.Workloads[1].Params, "colour")
	must.Fail(t, must.Err(makeSchema(cat)), `"colour"`)
	s := study.Study{Modes: study.ModesOf("host"), Workloads: []study.Workload{{Kind: "tcp_rr"}}}
	must.Fail(t, must.Err(study.Resolve(s, cat)), `"colour"`)
	cat = studytest.Catalog()
	delete(cat.Workloads[1].Lengths, study.Paper)
	s.Profile = study.Paper
	must.Fail(t, must.Err(study.Resolve(s, cat)), "tcp_rr has no default for duration in profile paper")
	cat = studytest.Catalog()
	cat.Workloads[1].Defaults.Family = "ipx"
	s.Profile = ""
	must.Fail(t, must.Err(study.Resolve(s, cat)), `defaults of the catalog: workloads[0]: family is "ipx"; want ipv4 or ipv6`)
}
