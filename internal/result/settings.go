package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is the build for readers, and in the trials that it measured: v0.1.0 (abc). It
// is empty for an unknown build.
func (b Build) String() string {
	if b.Commit == "" {
		return b.Version
	}
	return fmt.Sprintf("%s (%s)", b.Version, b.Commit)
}

// Settings are what decides the trials of a study: values as written in a study file, by
// key, with defaults filled in and absent keys left out. A key of a part has dots, as in
// limits.client.cpus. Study applies to every trial; Modes and Workloads are by name.
type Settings struct {
	Study     map[string]string            `json:"study"`
	Modes     map[string]map[string]string `json:"modes"`
	Workloads map[string]map[string]string `json:"workloads"`
}

// experimentDigits is the length of a hash of settings: 64 bits, in hexadecimal digits.
const experimentDigits = 16

// Experiment is the hash of what decides a trial of the mode with the workload, empty if
// the settings do not contain both. It consists of the first 16 hexadecimal digits of the
// SHA-256 of a JSON array of three objects, without spaces and with sorted keys: the
// settings of the study, the mode and the workload. The names of mode and workload are
// not in it. A key that a later version adds does not change it while the key is absent.
func (s Settings) Experiment(mode, workload string) string {
	m, hasMode := s.Modes[mode]
	w, hasWorkload := s.Workloads[workload]
	if !hasMode || !hasWorkload {
		return ""
	}
	return hashOf([]map[string]string{present(s.Study), present(m), present(w)})
}

// Hash is the hash of what decides all trials of a study, with the names of its modes and
// workloads: runs with the same hash can be compared over time. It is formed like that of
// [Settings.Experiment], of a JSON object with the three mappings.
func (s Settings) Hash() string { return hashOf(s) }

func hashOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // impossible: they are texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:experimentDigits]
}

// present returns an empty mapping for none, so that both have one encoding.
func present(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// Equal reports whether both decide all trials alike.
func (s Settings) Equal(o Settings) bool {
	return maps.Equal(s.Study, o.Study) && maps.EqualFunc(s.Modes, o.Modes, maps.Equal) && maps.EqualFunc(s.Workloads, o.Workloads, maps.Equal)
}

// Cause is why trials belong to another experiment. Scope is the part that differs:
// "study", "mode NAME" or "workload NAME" with the Key and its values, empty if absent
// there; "facts of mode NAME" with a fact that decides its trials; "tare" with the two
// builds; or "settings" if it is not recorded what decided the trials. Trials are their numbers, such as 1-24, 30.
type Cause struct {
	Scope  string `json:"scope"`
	Key    string `json:"key,omitempty"`
	Then   string `json:"then,omitempty"`
	Now    string `json:"now,omitempty"`
	Trials string `json:"trials"`
}

// The scopes of causes that are not settings.
const (
	CauseBuild    = "tare"
	CauseUnknown  = "settings"
	causeStudy    = "study"
	causeMode     = "mode "
	causeWorkload = "workload "
	causeFacts    = "facts of mode "
)

// Text says the cause in words; now is where the new values are, such as study.yaml.
func (c Cause) Text(now string) string {
	then, value := orAbsent(c.Then), orAbsent(c.Now)
	switch {
	case c.Scope == CauseBuild && c.Then == "":
		return fmt.Sprintf("trials %s were measured by an older tare, which did not record what decides a trial; this is %s", c.Trials, value)
	case c.Scope == CauseBuild:
		return fmt.Sprintf("trials %s were measured by tare %s, this is %s", c.Trials, then, value)
	case strings.HasPrefix(c.Scope, causeFacts):
		return fmt.Sprintf("%s: %s was %s in trials %s and is %s", c.Scope, c.Key, then, c.Trials, value)
	case c.Scope == CauseUnknown:
		return fmt.Sprintf("trials %s have settings that %s does not have and no session of the run recorded", c.Trials, now)
	case c.Trials == "" && c.Key == "":
		return fmt.Sprintf("%s is not in %s", c.Scope, now)
	case c.Trials == "":
		return fmt.Sprintf("%s: %s %s in the run, %s in %s", c.Scope, c.Key, then, value, now)
	case c.Key == "":
		return fmt.Sprintf("%s is in trials %s, not in %s", c.Scope, c.Trials, now)
	}
	return fmt.Sprintf("%s: %s %s in trials %s, %s in %s", c.Scope, c.Key, then, c.Trials, value, now)
}

func orAbsent(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// Causes lists the settings in which a trial of a mode and a workload differs between s,
// which decided it, and now, without Trials.
func (s Settings) Causes(now Settings, mode, workload string) []Cause {
	out := causes(nil, causeStudy, s.Study, now.Study)
	out = partCauses(out, causeMode+mode, s.Modes[mode], now.Modes, mode)
	return partCauses(out, causeWorkload+workload, s.Workloads[workload], now.Workloads, workload)
}

// AllCauses lists the settings in which s differs from now, for all modes and workloads
// of s, without Trials.
func (s Settings) AllCauses(now Settings) []Cause {
	out := causes(nil, causeStudy, s.Study, now.Study)
	for _, m := range slices.Sorted(maps.Keys(s.Modes)) {
		out = partCauses(out, causeMode+m, s.Modes[m], now.Modes, m)
	}
	for _, w := range slices.Sorted(maps.Keys(s.Workloads)) {
		out = partCauses(out, causeWorkload+w, s.Workloads[w], now.Workloads, w)
	}
	return out
}

// partCauses appends how a part differs from that of its name now, which may be absent.
func partCauses(out []Cause, scope string, then map[string]string, now map[string]map[string]string, name string) []Cause {
	after, has := now[name]
	if !has {
		return append(out, Cause{Scope: scope})
	}
	return causes(out, scope, then, after)
}

// causes appends the keys whose values differ, sorted.
func causes(out []Cause, scope string, then, now map[string]string) []Cause {
	keys := slices.Concat(slices.Collect(maps.Keys(then)), slices.Collect(maps.Keys(now)))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if then[k] != now[k] {
			out = append(out, Cause{Scope: scope, Key: k, Then: then[k], Now: now[k]})
		}
	}
	return out
}

// Apart are the trials in a run's directory that count in no cell of the run, because
// something else decided them or another build of tare measured them.
type Apart struct {
	Trials  Tally   `json:"trials"`
	Numbers string  `json:"numbers"`
	Causes  []Cause `json:"causes"`
}

// Session is one execution of the program in a run's directory: the first, or a resumed
// one. It is recorded before its first trial and updated after the set-up and each block.
// Run has what is known by then and no results. Of an earlier session only its id, start
// and build remain of it, and the facts that decide the trials of its modes.
type Session struct {
	Run      Run      `json:"run"`
	Settings Settings `json:"settings"`
	// Forced means that the session continued beside trials of another experiment.
	Forced bool `json:"forced,omitempty"`
}
