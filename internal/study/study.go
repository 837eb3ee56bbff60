// Package study defines the study file: what to measure, with which traffic, how often.
// It decodes YAML with line numbers, fills in defaults and checks every value before
// anything is set up.
package study

import (
	"time"

	"tare/internal/study/quantity"
)

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
	CostByParts                       *CostByParts
	Claims                            []Claim
	Blocks                            int
	Stop                              *Stop
	Control                           bool
	Pilot                             quantity.Wait
	Recreate                          Recreate
	Invalid                           Invalid
	Evidence                          Evidence
	CostPass                          CostPass
	Sensitivity                       string
	Tails                             string
	Pace                              string
	MaxRate                           quantity.Rate
	Margin                            float64
	Settle                            quantity.Wait
	MaxTime                           quantity.Duration
	Limits                            Limits
	Lab                               Lab
	Network                           Network
}

// Fields declares the keys of a study and their rules.
func (s *Study) Fields() []Field {
	return []Field{
		key("name", nameText(&s.Name), "short name, used in titles").with(DecidesNothing).
			flag("name", "", "name of the run, in its directory and in lists (default: the study's, or the modes of --modes)"),
		key("title", titleText(&s.Title), "one line for the report's head").with(DecidesNothing).
			flag("title", "", "title of the run's report"),
		key("description", descriptionText(&s.Description), "purpose of the study").with(DecidesNothing),
		key("profile", choice(&s.Profile, Profiles()...), "how thorough: quick, standard or paper").with(DecidesPrecision).
			flag("profile", "", "profile: quick, standard or paper"),
		key("seed", seed(&s.Seed), "seed of the random orders; chosen and recorded when absent").with(DecidesNothing).
			flag("seed", "", "seed of the random orders"),
		key("engine", engineText(&s.Engine), "Docker Engine of the docker modes: lab for private ones, or an existing one"),
		key("hosts", listOf(&s.Hosts, "host", "", false), "two machines, or two existing engines, the client's first"),
		key("cluster", optionalOf(&s.Cluster), "what is used of a Kubernetes cluster, with engine kube"),
		key("modes", listOf(&s.Modes, "mode", "mode", true), "network modes to measure: a name, or a mapping; missing baselines are added").with(DecidesNothing),
		key("workloads", listOf(&s.Workloads, "workload", "workload", false), "traffic to generate: a name, or a mapping with parameters").with(DecidesNothing),
		key("scenarios", listOf(&s.Scenarios, "scenario", "", false), "names for pairs of a mode and a workload").with(DecidesNothing),
		key("compare", listOf(&s.Compare, "comparison", "", false), "pairs of scenarios or modes to compare, in addition to the baselines").with(DecidesNothing),
		key("ladder", optionalOf(&s.CostByParts), "explains the cost of a mode by its parts, from modes that differ by one part each").with(DecidesNothing),
		key("claims", listOf(&s.Claims, "claim", "", false), "published claims that the run is held against").with(DecidesNothing),
		key("blocks", count(&s.Blocks, 2, mostBlocks), "number of trials of every mode with every workload; with stop, the maximum").with(DecidesPrecision),
		key("stop", optionalOf(&s.Stop), "stop the run when the intervals are narrow enough, instead of after a fixed number of blocks").with(DecidesPrecision).
			flag("adaptive", On, "end when the intervals are narrow enough, as the profile standard does"),
		key("control", truth(&s.Control), "measure the baseline a second time, as a mode named control: its difference is noise").with(DecidesNothing).
			flag("control", "true", "measure the baseline twice, as a mode named control, to show the noise"),
		key("pilot", wait(&s.Pilot, 10*time.Minute), "length of the pilot trial of each mode, which determines the warm-up; 0s for none").with(DecidesTrials),
		key("renew", recreate(&s.Recreate), "how often the endpoints of a mode are recreated").with(DecidesTrials),
		key("invalid", sectionOf(&s.Invalid), "rules that make a trial invalid; invalid trials are repeated").with(DecidesTrials),
		key("evidence", sectionOf(&s.Evidence), "what is recorded in addition to the metrics: where packets are lost, what uses CPU time").with(DecidesTrials),
		key("cost_pass", sectionOf(&s.CostPass), "a pass with the same rate for every mode, to compare their CPU use").with(DecidesPrecision),
		key("sensitivity", choice(&s.Sensitivity, On, Off), "on: a pass with other settings of the generator (writes, buffers, cores), which shows how far ratios depend on them; off when absent").with(DecidesPrecision).
			flag("sensitivity", On, "measure with other settings of the generator, too (writes, buffers, cores), and report how far ratios depend on them"),
		key("tails", choice(&s.Tails, On, Off), "on: the tail pass, trials at half of the slowest mode's transaction rate on a schedule, by which percentiles beyond the 99th are judged; off when absent").with(DecidesPrecision).
			flag("tails", On, "judge percentiles beyond the 99th, in trials of their own after all others"),
		key("pace", choice(&s.Pace, Half, Off), "half: bulk transfers and streams of datagrams have half of the rate that a baseline reaches in a first trial; off on hosts of the run's own").
			flag("full-rate", Off, "on a cluster: send as fast as the path carries, instead of at half of what a first trial reached"),
		key("max_rate", rate(&s.MaxRate, leastRate), "highest payload rate of a bulk transfer or a stream of datagrams, all its pairs together; none when absent").
			flag("max-rate", "", "highest rate of a bulk transfer or a stream of datagrams, such as 1Gbit/s"),
		key("margin", fraction(&s.Margin, 0.001, 0.5), "relative difference that still counts as same, such as 0.05").with(DecidesPrecision),
		key("settle", wait(&s.Settle, time.Minute), "idle wait before each trial").with(DecidesTrials),
		key("max_time", duration(&s.MaxTime, time.Second, 30*24*time.Hour), "time limit: no block starts that would end later").with(DecidesPrecision).
			flag("max-time", "", "start no block that would end later than this, such as 10m"),
		key("limits", sectionOf(&s.Limits), "resource limits of the sandboxes of modes that an engine creates").with(DecidesModes),
		key("lab", sectionOf(&s.Lab), "the two hosts and their underlay").with(DecidesNothing),
		key("network", sectionOf(&s.Network), "your own network, for which the report says what modes add").with(DecidesNothing),
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
	Rate    quantity.Rate
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
