package tool

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/traffic"
)

// The environment variables with which a test controls its fake tool.
const (
	fakeDoes    = "TARE_FAKE_DOES"    // print, talk, hang, flood, crash, garbage, nothing, family
	fakePrints  = "TARE_FAKE_PRINTS"  // the file to print, @ stands for client or server
	fakeVersion = "TARE_FAKE_VERSION" // the banner
	fakeHelp    = "TARE_FAKE_HELP"
	fakePID     = "TARE_FAKE_PID"   // where to write the process id
	fakeWaits   = "TARE_FAKE_WAITS" // a server does nothing before somebody connects
)

// fake is the test binary under a tool's name.
func fake(string) int {
	args := os.Args[1:]
	if slices.ContainsFunc(args, func(a string) bool { return slices.Contains([]string{"--version", "-v", "-h", "--help"}, a) }) {
		fmt.Println(os.Getenv(fakeVersion))
		fmt.Println(os.Getenv(fakeHelp))
		return 1 // as iperf2 does
	}
	if path := os.Getenv(fakePID); path != "" {
		text, _ := os.ReadFile("/proc/self/status")
		_ = os.WriteFile(fmt.Sprintf("%s.%d", path, os.Getpid()), text, 0o600)
	}
	role := atClient
	if args[0] == "-s" && !slices.Contains(args, "-c") || strings.HasPrefix(args[0], "-r") {
		role = atServer
	}
	if i := slices.Index(args, "-p"); i >= 0 && role == atServer && !strings.HasPrefix(args[0], "-s1") {
		l, err := net.Listen("tcp", "127.0.0.1:"+args[i+1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer l.Close()
		if os.Getenv(fakeWaits) != "" {
			_, _ = l.Accept()
		}
	}
	switch os.Getenv(fakeDoes) {
	case "print", "talk":
		text, err := os.ReadFile(strings.ReplaceAll(os.Getenv(fakePrints), "@", role.String()))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if i := slices.Index(args, "-x"); i >= 0 {
			_ = os.WriteFile(args[i+1], text, 0o600)
			fmt.Println("NTTTCP for Linux 1.4.3")
			return 0
		}
		if os.Getenv(fakeDoes) == "talk" {
			text = append(text, "\nSegmentation fault (core dumped)\n"...)
		}
		_, _ = os.Stdout.Write(text) // a closed reader is the test's problem
		return 1                     // the exit code of a tool is meaningless
	case "hang":
		time.Sleep(time.Hour)
	case "family": // a child that would outlive its parent
		child := exec.Command("/proc/self/exe")
		child.Args = os.Args
		child.Env = append(os.Environ(), fakeDoes+"=hang")
		child.Stdout = os.Stdout
		_ = child.Run()
	case "flood":
		for line := []byte(strings.Repeat("x", 1<<16)); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	case "crash":
		fmt.Fprintln(os.Stderr, "segmentation fault, perhaps")
		return 139
	case "garbage":
		fmt.Println("\x00\xff{]")
	}
	return 0
}

// fakes puts the test binary on the PATH under the names of all tools.
func fakes(t *testing.T, does, prints string) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	dir := t.TempDir()
	for _, name := range []string{"iperf3", "iperf", "ntttcp"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			testneed.Missing(t, testneed.Other, err)
		}
	}
	if prints != "" {
		prints = must.Get(filepath.Abs(filepath.Join("testdata", prints)))(t)
	}
	t.Setenv("PATH", dir)
	t.Setenv(fakeDoes, does)
	t.Setenv(fakePrints, prints)
	t.Setenv(fakeVersion, "iperf 3.12 (cJSON 1.7.15)")
	t.Setenv(fakeHelp, "  --idle-timeout #  --udp-counters-64bit  --bidir  --connect-timeout #")
}

func fakeParams(tool string) traffic.Params {
	p := params(tool, tcpStream)
	p.Rate = 0
	return p
}
