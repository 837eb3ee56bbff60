package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testns"
	"tare/internal/timelimit"
)

// door is a kind of peer that the program speaks to, with the commands that do.
type door struct {
	name     string
	attacks  []string
	deepest  int            // the attack begins after a random number of good bytes or answers, below this one
	named    *regexp.Regexp // the peer in an error: as the user wrote it, or by its place in a lab
	commands [][]string
	open     func(c peerCase, home string) (environment []string, shut func(), err error)
}

func doors() []door {
	hosts := []string{"--host", "local", "--host", "ssh://far"}
	return []door{
		{"ssh", streamAttacks(), 6000, regexp.MustCompile(`\bfar\b|\bb\b`), [][]string{
			{"gc", "--host", "ssh://far"}, {"gc", "--dry-run", "--host", "ssh://far"}, append([]string{"doctor"}, hosts...),
			append([]string{"modes", "--probe", "host"}, hosts...), append([]string{"run", "--modes", "host", "--workloads", "tcp_rr"}, hosts...),
		}, openSSH},
		{"engine", answerAttacks(), 8, regexp.MustCompile(`docker`), [][]string{
			{"gc"}, {"gc", "--dry-run"}, {"engines"}, {"run", "--engine", "docker", "--modes", "docker/host,docker/bridge", "--workloads", "tcp_rr"},
		}, openEngine},
		{"cluster", answerAttacks(), 12, regexp.MustCompile(`cluster|127\.0\.0\.1`), [][]string{
			{"gc", "--kube"}, {"gc", "--kube", "--namespace", "bench"}, {"doctor", "--kube"}, {"modes", "--kube"}, {"run", "--kube", "--modes", "k8s/hostnet,k8s/pod", "--workloads", "tcp_rr"},
		}, openCluster},
	}
}

// peerCase is one command against one peer. All that is random in it follows from its seed.
type peerCase struct {
	door    door
	attack  string
	command []string
	seed    uint64
	good    int           // bytes, or answers, before the attack
	stop    time.Duration // after which the user presses Ctrl-C; 0: never
}

func (c peerCase) String() string {
	return fmt.Sprintf("%s %s after %d, tare %s, Ctrl-C after %v", c.door.name, c.attack, c.good, strings.Join(c.command, " "), c.stop)
}

// peerCases chooses cases. Every attack on every door comes equally often.
func peerCases() (cases []peerCase) {
	var all []peerCase
	for _, d := range doors() {
		for _, a := range d.attacks {
			all = append(all, peerCase{door: d, attack: a})
		}
	}
	for i := range *peerCount {
		order := rand.New(rand.NewPCG(*faultSeed, uint64(i/len(all)))).Perm(len(all))
		c := all[order[i%len(all)]]
		rng := rand.New(rand.NewPCG(*faultSeed, 1<<33+uint64(i)))
		c.seed, c.command = rng.Uint64(), c.door.commands[rng.IntN(len(c.door.commands))]
		if c.good = rng.IntN(c.door.deepest); rng.IntN(4) == 0 {
			c.good = 0
		}
		if rng.IntN(4) == 0 {
			c.stop = time.Duration(1+rng.IntN(5000)) * time.Millisecond
		}
		cases = append(cases, c)
	}
	return cases
}

// The bounds of a command against whatever peer: its time, of which a copy to a slow machine may take five minutes,
// and its memory. So many commands run at once: they wait, mostly.
const (
	peerTime   = 8 * time.Minute
	peerMemory = 256 << 20
	peersAside = 12
)

// Whatever a machine, an engine or a cluster answers, a command ends, in bounded time and memory, with an error of one
// line that names the peer, prints nothing that a terminal would act on, and leaves nothing behind.
func TestFaultsPeers(t *testing.T) {
	if !onMachine(t) {
		return
	}
	cases := peerCases()
	before := take(t)
	results := make([]peerResult, len(cases))
	var group errgroup.Group
	group.SetLimit(peersAside)
	for i, c := range cases {
		if *faultCase >= 0 && i != *faultCase {
			continue
		}
		group.Go(func() error {
			var err error
			results[i], err = c.try(t, i)
			return err
		})
	}
	must.Do(t, group.Wait())
	if diff := before.settled(t); diff != "" {
		t.Errorf("left (-before +after):\n%s", diff)
	}
	printPeers(cases, results)
}

// peerResult is what one command did.
type peerResult struct {
	tried, failed bool
	interrupted   bool // it ended by the signal of Ctrl-C
	code          int
	took          time.Duration
	memory        int // bytes, at most
}

// try runs one command against its peer. It is not called by the test's own goroutine, which alone may end the test.
func (c peerCase) try(t *testing.T, i int) (r peerResult, err error) {
	home := filepath.Join(testns.Scratch, fmt.Sprint("peer-", i))
	if err := os.Mkdir(home, 0o755); err != nil {
		return r, err
	}
	defer os.RemoveAll(home)
	var out bytes.Buffer
	cmd := exec.Command(program, c.command...)
	cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = "tare", home, &out, &out, 10*time.Second
	cmd.Env = append(os.Environ(), "HOME="+home, timelimit.Variable+"=1")
	environment, shut, err := c.door.open(c, home)
	if err != nil {
		return r, err
	}
	defer shut()
	cmd.Env = append(cmd.Env, environment...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit code and the signal tell
		close(ended)
	}()
	var interrupt <-chan time.Time
	if c.stop > 0 {
		interrupt = time.After(c.stop)
	}
	late := time.After(timelimit.Scaled(peerTime))
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	var wrong []string
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-interrupt:
			_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		case <-look.C:
			r.memory = max(r.memory, memory(cmd.Process.Pid))
		case <-late:
			wrong = append(wrong, "it does not end")
			_ = cmd.Process.Signal(syscall.SIGQUIT)
		}
	}
	r.tried, r.code, r.took = true, cmd.ProcessState.ExitCode(), time.Since(began)
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r.interrupted = ok && status.Signaled() && status.Signal() == syscall.SIGINT
	text := out.String()
	wrong = append(wrong, c.judge(r, text)...)
	if r.failed = len(wrong) > 0; r.failed {
		t.Errorf("case %d, %s: exit code %d after %v, %d MB: %s\n%.20000s", i, c, r.code, r.took.Round(time.Millisecond), r.memory>>20, strings.Join(wrong, "; "), text)
	}
	return r, nil
}

// problem matches the line of an error.
var problem = regexp.MustCompile(`(?m)^tare: .*`)

// judge lists what is wrong with what a command printed and how it ended.
func (c peerCase) judge(r peerResult, text string) (wrong []string) {
	if r.memory > peerMemory {
		wrong = append(wrong, "it took too much memory")
	}
	if len(text) > 256<<10 {
		wrong = append(wrong, fmt.Sprintf("it printed %d bytes", len(text)))
	}
	if at := strings.IndexFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
	}); at >= 0 {
		wrong = append(wrong, "it printed "+strconv.QuoteToASCII(text[max(0, at-20):min(len(text), at+20)]))
	}
	if strings.Contains(text, "\ngoroutine ") || r.code < 0 && !r.interrupted {
		wrong = append(wrong, "it crashed")
	}
	if r.code == 0 && c.command[0] == "run" && c.door.name != "ssh" {
		wrong = append(wrong, "it measured nothing and says nothing")
	}
	if r.code == 2 {
		wrong = append(wrong, "it blames the command line")
	}
	if r.code > 0 && r.code != 130 && r.code != 4 {
		if !c.door.named.MatchString(text) {
			wrong = append(wrong, "no error names the peer")
		}
		if errors := problem.FindAllString(text, -1); len(errors) != 1 || len(errors[0]) > 2000 {
			wrong = append(wrong, fmt.Sprintf("it does not end with one error of one line: %q", errors))
		}
	}
	return wrong
}

// printPeers prints the table of README.md.
func printPeers(cases []peerCase, results []peerResult) {
	fmt.Printf("\n| peer | commands | with Ctrl-C | within the bounds | longest | largest | exit code 0 |\n|---|---|---|---|---|---|---|\n")
	for _, d := range doors() {
		tried, stopped, good, zero, most := 0, 0, 0, 0, 0
		var longest time.Duration
		for i, r := range results {
			if !r.tried || cases[i].door.name != d.name {
				continue
			}
			tried++
			if cases[i].stop > 0 {
				stopped++
			}
			if !r.failed {
				good++
			}
			if r.code == 0 {
				zero++
			}
			longest, most = max(longest, r.took), max(most, r.memory)
		}
		fmt.Printf("| %s | %d | %d | %d | %.0f s | %d MB | %d |\n", d.name, tried, stopped, good, longest.Seconds(), most>>20, zero)
	}
	fmt.Println()
}
