package tare_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// machineValues are the names in `machine` of a trial, with their meaning.
var machineValues = [][2]string{
	{"cpu_user", "CPU seconds of the whole machine in user space, in the trial's own time, without the slices of other modes"},
	{"cpu_system", "the same, in the kernel"},
	{"cpu_irq", "the same, in interrupts"},
	{"cpu_softirq", "the same, in soft interrupts"},
	{"cpu_steal", "CPU seconds taken by the hypervisor"},
	{"cpu_idle", "CPU seconds without work"},
	{"cpu_busy", "CPU seconds of work, a better total than the sum of the above"},
	{"cpu_time", "length of the trial's own time, s"},
	{"cpu_fullest", "share of it in which the busiest CPU was not idle"},
	{"cpu_baseline", "CPUs busy when idle, in this block, without other programs"},
	{"endpoint_cpu_wait", "seconds in which the endpoint that waited longer was ready to run but had no CPU; absent where its kernel does not count it, and for workloads other than streams of datagrams"},
	{"others_cpu", "CPU seconds of programs that are not part of the run, in `clock_elapsed`"},
	{"clock_elapsed", "seconds from the first slice of any mode of the group to the last"},
	{"clock_step", "seconds by which the system clock was set in that time"},
	{"pressure_cpu", "seconds in which something waited for a CPU (PSI)"},
	{"pressure_memory", "the same, for memory"},
	{"pressure_io", "the same, for a disk"},
	{"pressure_elapsed", "seconds over which agents read pressure and memory, if the endpoints are on machines where this program does not run: of two machines the longer wait, the lower available memory and the sum of the counts"},
	{"memory_available", "bytes, the lower of before and after"},
	{"memory_major_faults", "page faults that read a disk, of the whole machine"},
	{"memory_swapped", "bytes, in and out"},
	{"memory_stalls", "waits for memory to be freed"},
	{"memory_oom_kills", "processes that were killed for lack of memory"},
	{"memory_group_stalls", "how often a control group that limits the run reached its limit"},
	{"memory_group_oom_kills", "processes that were killed for the limit of such a group"},
	{"throttled", "seconds for which client and server together were stopped, because the CPU limit of their container or pod was used up; absent where no agent reads that"},
	{"conntrack_use", "used share of the connection tracking table when the trial ended, of the fullest network stack on the path"},
}

// machineSection is the section of docs/run-files.md on these names.
func machineSection() string {
	var out strings.Builder
	out.WriteString("\n## machine\n\nThe names in `machine` of a trial, from the first connection to the last report. If client and server are on two machines that are read separately, " +
		"the CPU values of each have `client_` or `server_` in front. See [CPU cost](cpu-cost.md).\n\n| name | meaning |\n|---|---|\n")
	for _, v := range machineValues {
		fmt.Fprintf(&out, "| `%s` | %s |\n", v[0], v[1])
	}
	return out.String()
}

// Every name that verdicts depend on, and every one in the recorded trials, is described.
func TestMachineValues(t *testing.T) {
	described := func(name string) bool {
		return slices.ContainsFunc(machineValues, func(v [2]string) bool { return v[0] == name })
	}
	var constants int
	ast.Inspect(must.Get(parser.ParseFile(token.NewFileSet(), "internal/result/figures.go", nil, 0))(t), func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is && strings.HasPrefix(v.Names[0].Name, "Machine") {
			constants++
			if name := must.Get(strconv.Unquote(v.Values[0].(*ast.BasicLit).Value))(t); !described(name) {
				t.Errorf("%s of package result is not described", name)
			}
		}
		return true
	})
	seen := map[string]bool{}
	for _, path := range must.Get(filepath.Glob("docs/claims/runs/*/trials.ndjson.gz"))(t) {
		file := must.Get(os.Open(path))(t)
		lines := bufio.NewScanner(must.Get(gzip.NewReader(file))(t))
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var trial struct{ Machine map[string]float64 }
			must.Do(t, json.Unmarshal(lines.Bytes(), &trial))
			for name := range trial.Machine {
				seen[strings.TrimPrefix(strings.TrimPrefix(name, "client_"), "server_")] = true
			}
		}
		must.Do(t, lines.Err(), file.Close())
	}
	for name := range seen {
		must.True(t, described(name), "%s of a recorded trial is not described", name)
	}
	must.Require(t, constants >= 10 && len(seen) >= 15, "%d constants, %d recorded names", constants, len(seen))
}
