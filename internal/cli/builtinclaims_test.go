package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/published"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/studies"
)

// conclusions are what the five published studies concluded and what can be read from their
// tables, each with the claims that hold a run against it.
var conclusions = map[string]map[string]string{
	"published-ports": {
		"Linux: TCP":                                    "linux-tcp-rate",
		"Linux: highest UDP":                            "linux-udp-rate",
		"Linux: no loss of what the sender made":        "linux-udp-loss",
		"Linux: UDP beside TCP":                         "linux-udp-tcp",
		"Windows: TCP":                                  "windows-tcp",
		"Windows: UDP, bound by the sender":             "windows-udp",
		"macOS, HyperKit: TCP":                          "hyperkit-tcp",
		"macOS, HyperKit: UDP, and loss at three loads": "hyperkit-udp",
		"macOS, VirtualBox: TCP":                        "macos-virtualbox-tcp",
		"macOS, VirtualBox: UDP":                        "macos-virtualbox-udp",
		"another VM layer, another result":              "vm-layer",
		"a VM below the container":                      "vm-tcp vm-udp vm-udp-loss",
	},
	"sdn": {
		"the virtual switch, B to A":                            "virtual-switch",
		"the SDN, D to B":                                       "sdn",
		"the SDN's own code, F to E":                            "sdn-own-code",
		"the two ratios are alike":                              "sdn-same-ratio",
		"one node beside two, C to B":                           "one-node",
		"E to B and F to D, no segmentation":                    "no-segmentation no-segmentation-sdn",
		"the order of A to D":                                   "order",
		"average CPU of A, B, D, E and F":                       "containers-cpu sdn-cpu sdn-unsegmented-cpu no-segmentation-cpu",
		"average CPU of the receiver beside that of the sender": "receiver-cpu",
		"hypothesis: two pairs":                                 "two-pairs two-pairs-cpu",
		"hypothesis: two threads":                               "two-threads two-threads-cpu",
		"8 CPUs and 8 threads":                                  "eight-threads",
		"Windows itself":                                        "windows",
	},
	"host-vs-bridge": {
		"host network as raw":            "host-tcp host-tcp-unlimited",
		"bridge at 80 %":                 "bridge-tcp bridge-tcp-unlimited host-bridge host-bridge-unlimited",
		"raw and host at the rate limit": "raw-limit host-limit",
		"retransmits":                    "bridge-retransmits host-retransmits",
	},
	"one-host": {
		"container on the bridge": "bridge",
		"host network":            "host-network host-network-bridge",
		"virtual machine":         "vm",
		"the order of the three":  "order",
		"two TCP windows":         "window",
	},
	"overlays": {
		"Docker: TCP, not significant":       "docker-tcp docker-tcp-unlimited",
		"Rancher: TCP, significant, minor":   "rancher-tcp rancher-tcp-unlimited",
		"Swarm: TCP, almost 45 %":            "swarm-tcp swarm-tcp-unlimited",
		"the order by TCP":                   "tcp-order tcp-order-unlimited rancher-swarm rancher-swarm-unlimited",
		"raw: UDP loss curve":                "raw-udp raw-udp-unlimited",
		"Docker: UDP loss curve":             "docker-udp-low docker-udp",
		"Rancher: UDP loss":                  "rancher-udp",
		"Swarm: UDP loss":                    "swarm-udp",
		"no instance short of CPU or memory": "enough-resources",
		"the drivers are to blame":           "rancher-drivers swarm-drivers",
		"one point in time":                  "point-in-time",
		"one type of instance":               "instance-type",
		"constrained resources":              "constrained",
	},
}

// Every conclusion of the five published studies has its claim, and every claim of theirs
// is one of these.
func TestConclusionsCovered(t *testing.T) {
	t.Parallel()
	builtin := builtinStudies(t)
	for name, rows := range conclusions {
		var ids, listed []string
		for _, c := range builtin[name].Claims {
			ids = append(ids, c.ID)
		}
		for row, claims := range rows {
			for _, id := range strings.Fields(claims) {
				if listed = append(listed, id); !slices.Contains(ids, id) {
					t.Errorf("%s, %q: there is no claim %q", name, row, id)
				}
			}
		}
		for _, id := range ids {
			must.True(t, slices.Contains(listed, id), "%s: claim %q is of no conclusion", name, id)
		}
	}
	// What studies C to E left open or named as missing is measured.
	for name, want := range map[string][]string{
		"one-host": {"vm/virtio", "ovs/flat", "docker/macvlan"},
		"overlays": {"tcp_crr", "udp-curve"},
	} {
		s := builtin[name]
		for _, w := range want {
			must.True(t, slices.Contains(append(s.ModeNames(), s.Names()...), w), "%s lacks %s", name, w)
		}
	}
}

// What a limit of the link hid is tested with the limit and without, on otherwise equal modes.
func TestClaimsWithoutTheLimit(t *testing.T) {
	t.Parallel()
	const suffix = "-unlimited"
	seen := 0
	for name, s := range builtinStudies(t) {
		sides := func(id string) (rates []quantity.Rate, modes []string, holdsIf string) {
			i := slices.IndexFunc(s.Claims, func(c study.Claim) bool { return c.ID == id })
			must.Require(t, i >= 0, "%s: there is no claim %q", name, id)
			of, _ := s.Sides(s.Claims[i])
			for _, side := range of {
				m, ok := s.ModeNamed(side.Mode)
				must.True(t, ok, "%s, %s: there is no mode %q", name, id, side.Mode)
				rates, modes = append(rates, s.LabOf(m).Rate), append(modes, m.Mode)
			}
			return rates, modes, s.Claims[i].HoldsIf
		}
		for _, c := range s.Claims {
			limited, is := strings.CutSuffix(c.ID, suffix)
			if !is {
				continue
			}
			seen++
			free, freeModes, freeHolds := sides(c.ID)
			bound, modes, holds := sides(limited)
			must.True(t, slices.Equal(modes, freeModes) && holds == freeHolds && len(modes) != 0,
				"%s: %s is about %q and %q, %s about %q and %q", name, limited, modes, holds, c.ID, freeModes, freeHolds)
			for i := range free {
				must.True(t, free[i] == 0 && bound[i] != 0 && bound[i] == bound[0], "%s: %s has links of %v, %s of %v", name, limited, bound, c.ID, free)
			}
		}
	}
	must.True(t, seen >= 8, "%d claims without the limit", seen)
}

// Every claim says who made it, and either how the set-ups differ or what is lacking. Claims
// survive every profile.
func TestBuiltinClaims(t *testing.T) {
	t.Parallel()
	claimed := map[string]bool{}
	for name, s := range builtinStudies(t) {
		src, _ := studies.Builtin(name)
		cat := catalogOf(src)
		for _, c := range s.Claims {
			claimed[name] = true
			must.True(t, c.Source != "" && (c.Needs == "") != (c.Differs == "") && (c.Needs == "") == (len(c.Of) > 0),
				"%s, claim %s: source %q, needs %q, differs %q, of %q", name, c.ID, c.Source, c.Needs, c.Differs, c.Of)
			if c.Needs != "" {
				continue
			}
			if _, err := published.ParseCondition(c.HoldsIf); err != nil {
				t.Errorf("%s, claim %s: %v", name, c.ID, err)
			}
		}
		for _, profile := range study.Profiles() {
			over, err := s.Apply(study.Overrides{Set: map[string]string{"profile": profile}}, cat)
			if err == nil {
				over, err = study.Resolve(over, cat)
			}
			must.True(t, err == nil && len(over.Claims) == len(s.Claims), "%s, profile %s: %v, %d of %d claims", name, profile, err, len(over.Claims), len(s.Claims))
		}
	}
	for _, name := range []string{
		"published-ports", "sdn", "host-vs-bridge", "one-host", "overlays",
		"service-rules", "rootless-flows", "overlay-segments", "netkit-big-tcp", "encryption-one-rate",
	} {
		must.True(t, claimed[name], "%s has no claims", name)
	}
}

// A study with claims is announced as short enough to be run: its default profile takes at most
// 9 minutes with study E's loss curve, 6 for the other four and 4 for one claim's.
func TestClaimStudiesAreShort(t *testing.T) {
	t.Parallel()
	a := New(result.Build{})
	for name, s := range builtinStudies(t) {
		if len(s.Claims) == 0 {
			continue
		}
		most := 4 * time.Minute
		if name == "overlays" {
			most = 9 * time.Minute
		} else if _, ok := conclusions[name]; ok {
			most = 6 * time.Minute
		}
		s.Seed = 1
		s := must.Get(study.Resolve(s, a.Catalog()))(t)
		p := plan.Make(s).WithSetupTimes(a.Target.Drivers.SetupTimes(s))
		if takes := p.Extent(p.Blocks).Time; takes <= 0 || takes > most {
			t.Errorf("%s takes %s; want at most %s", name, takes, most)
		}
	}
}

// builtinStudies are the studies that come with tare, by name.
func builtinStudies(t *testing.T) map[string]study.Study {
	t.Helper()
	all := map[string]study.Study{}
	for _, name := range studies.Names() {
		src, _ := studies.Builtin(name)
		s := must.Get(studyfile.Decode(name+".yaml", src, catalogOf(src)))(t)
		all[name] = s
	}
	return all
}
