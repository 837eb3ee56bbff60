// Package study defines the study file: what to measure, with which traffic, how often.
// It decodes YAML with line numbers, fills in defaults and checks every value before
// anything is set up.
package study

import "time"

// Study is a study file. After Resolve every applicable field is set, so that the
// study.yaml of a run's directory repeats it exactly.
type Study struct {
	Name, Title, Description, Profile string
	Seed                              uint64
	Engine                            string
	Hosts                             []Host
	Cluster                           *Cluster
	Modes                             []Mode
	Workloads                         []Workload
	Scenarios                         []Scenario
	Compare                           []Comparison
	Ladder                            *Ladder
	Claims                            []Claim
	Blocks                            int
	Stop                              *Stop
	Control                           bool
	Pilot                             Wait
	Renew                             Renew
	Invalid                           Invalid
	Evidence                          Evidence
	CostPass                          CostPass
	Sensitivity                       string
	Tails                             string
	Pace                              string
	MaxRate                           Rate
	Margin                            float64
	Settle                            Wait
	MaxTime                           Duration
	Limits                            Limits
	Lab                               Lab
	Network                           Network
}

// Fields declares the keys of a study and their rules.
func (s *Study) Fields() []Field {
	return []Field{
		key("name", nameText(&s.Name), "short name, used in titles"),
		key("title", titleText(&s.Title), "one line for the report's head"),
		key("description", descriptionText(&s.Description), "purpose of the study"),
		key("profile", choice(&s.Profile, Profiles()...), "how thorough: quick, standard or paper"),
		key("seed", seed(&s.Seed), "seed of the random orders; chosen and recorded when absent"),
		key("engine", engineText(&s.Engine), "Docker Engine of the docker modes: lab for private ones, or an existing one"),
		key("hosts", listOf(&s.Hosts, "host", "", false), "two machines, or two existing engines, the client's first"),
		key("cluster", optionalOf(&s.Cluster), "what is used of a Kubernetes cluster, with engine kube"),
		key("modes", listOf(&s.Modes, "mode", "mode", true), "network modes to measure: a name, or a mapping; missing baselines are added"),
		key("workloads", listOf(&s.Workloads, "workload", "workload", false), "traffic to generate: a name, or a mapping with parameters"),
		key("scenarios", listOf(&s.Scenarios, "scenario", "", false), "names for pairs of a mode and a workload"),
		key("compare", listOf(&s.Compare, "comparison", "", false), "pairs of scenarios or modes to compare, in addition to the baselines"),
		key("ladder", optionalOf(&s.Ladder), "explains the cost of a mode by its parts, from modes that differ by one part each"),
		key("claims", listOf(&s.Claims, "claim", "", false), "published claims that the run is held against"),
		key("blocks", count(&s.Blocks, 2, mostBlocks), "number of trials of every mode with every workload; with stop, the maximum"),
		key("stop", optionalOf(&s.Stop), "stop the run when the intervals are narrow enough, instead of after a fixed number of blocks"),
		key("control", truth(&s.Control), "measure the baseline a second time, as a mode named control: its difference is noise"),
		key("pilot", wait(&s.Pilot, 10*time.Minute), "length of the pilot trial of each mode, which determines the warm-up; 0s for none"),
		key("renew", renew(&s.Renew), "how often the endpoints of a mode are recreated"),
		key("invalid", sectionOf(&s.Invalid), "rules that make a trial invalid; invalid trials are repeated"),
		key("evidence", sectionOf(&s.Evidence), "what is recorded in addition to the metrics: where packets are lost, what uses CPU time"),
		key("cost_pass", sectionOf(&s.CostPass), "a pass with the same rate for every mode, to compare their CPU use"),
		key("sensitivity", choice(&s.Sensitivity, On, Off), "on: a pass with other settings of the generator (writes, buffers, cores), which shows how far ratios depend on them; off when absent"),
		key("tails", choice(&s.Tails, On, Off), "on: the tail pass, trials at half of the slowest mode's transaction rate on a schedule, by which percentiles beyond the 99th are judged; off when absent"),
		key("pace", choice(&s.Pace, Half, Off), "half: bulk transfers and streams of datagrams have half of the rate that a baseline reaches in a first trial; off on hosts of the run's own"),
		key("max_rate", rate(&s.MaxRate, leastRate), "highest payload rate of a bulk transfer or a stream of datagrams, all its pairs together; none when absent"),
		key("margin", fraction(&s.Margin, 0.001, 0.5), "relative difference that still counts as same, such as 0.05"),
		key("settle", wait(&s.Settle, time.Minute), "idle wait before each trial"),
		key("max_time", duration(&s.MaxTime, time.Second, 30*24*time.Hour), "time limit: no block starts that would end later"),
		key("limits", sectionOf(&s.Limits), "resource limits of the sandboxes of modes that an engine creates"),
		key("lab", sectionOf(&s.Lab), "the two hosts and their underlay"),
		key("network", sectionOf(&s.Network), "your own network, for which the report says what modes add"),
	}
}

// Names lists the workloads of a resolved study under their names in results.
func (s Study) Names() []string {
	var names []string
	for _, w := range s.Workloads {
		names = append(names, w.Name())
	}
	return names
}

// Lab describes the embedded lab.
type Lab struct {
	MTU     int
	Rate    Rate
	Offload string
}

// Fields declares the keys of a lab and their rules.
func (l *Lab) Fields() []Field {
	return []Field{
		key("mtu", mtu(&l.MTU), "underlay MTU in bytes"),
		key("rate", rate(&l.Rate, leastRate), "rate limit of the underlay in each direction, such as 1Gbit/s; none when absent"),
		key("offload", choice(&l.Offload, On, Off), "segmentation and receive offloads of every device: on or off"),
	}
}
