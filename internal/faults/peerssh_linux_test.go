package faults

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// peerName is the name under which this binary is the ssh of a machine that turns hostile: it runs the command here, as
// a machine of its own would, and attacks with what the command answers.
const peerName = "hostile-ssh"

// openSSH makes an ssh of that machine, for the PATH.
func openSSH(c peerCase, home string) (environment []string, shut func(), err error) {
	own := filepath.Join(home, peerName)
	if err := os.Symlink(program, own); err != nil {
		return nil, nil, err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec %s '%s' %d %d \"$@\"\n", own, c.attack, c.good, c.seed)
	err = os.WriteFile(filepath.Join(home, "ssh"), []byte(script), 0o755)
	return []string{"PATH=" + home + ":" + os.Getenv("PATH")}, func() {}, err
}

// peerMain is that ssh: its arguments are the attack, after how many bytes it begins, its seed, and those of ssh.
func peerMain(args []string) int {
	good, err := strconv.ParseInt(args[1], 10, 64)
	seed, err2 := strconv.ParseUint(args[2], 10, 64)
	if err != nil || err2 != nil {
		return 255
	}
	cmd := exec.Command("sh", "-c", args[len(args)-1])
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGHUP}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return 255
	}
	if _, err := io.CopyN(os.Stdout, out, good); err == nil {
		attackStream(args[0], rand.New(rand.NewPCG(seed, 0)), os.Stdout, out)
	}
	if err := cmd.Wait(); err != nil {
		return max(cmd.ProcessState.ExitCode(), 1)
	}
	return 0
}

// forever writes a text until nobody reads it.
func forever(to io.Writer, text string) {
	for b := []byte(strings.Repeat(text, 64<<10/len(text))); ; {
		if _, err := to.Write(b); err != nil {
			return
		}
	}
}

// digits matches the numbers of an answer.
var digits = regexp.MustCompile(`\d+`)

func streamAttacks() []string {
	return []string{"endless lines", "endless line", "endless zeros", "endless errors", "silent", "slow", "closes", "garbage", "flips bits", "doubles", "escapes", "huge numbers"}
}

// attackStream writes to out in place of what a command answers.
func attackStream(attack string, rng *rand.Rand, out io.Writer, real io.Reader) {
	each := func(size int, write func(b []byte) error) {
		for b := make([]byte, size); ; {
			n, err := real.Read(b)
			if n > 0 && write(b[:n]) != nil || err != nil {
				return
			}
		}
	}
	put := func(b []byte) error { _, err := out.Write(b); return err }
	switch attack {
	case "endless lines":
		forever(out, "welcome\n")
	case "endless line":
		forever(out, "x")
	case "endless zeros":
		forever(out, "\x00")
	case "endless errors":
		forever(os.Stderr, "\x1b[31mno\n")
	case "silent":
		each(4096, func([]byte) error { return nil })
	case "slow":
		each(1, func(b []byte) error { time.Sleep(200 * time.Millisecond); return put(b) })
	case "closes":
		_ = os.Stdout.Close()
	case "garbage":
		b := make([]byte, 64<<10)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		_ = put(b)
		each(4096, put)
	case "flips bits":
		each(200, func(b []byte) error { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return put(b) })
	case "doubles":
		each(4096, func(b []byte) error { return put(append(bytes.Clone(b), b...)) })
	case "escapes":
		each(200, func(b []byte) error { return put(append([]byte(hostileText), b...)) })
	case "huge numbers":
		each(4096, func(b []byte) error { return put(digits.ReplaceAll(b, []byte("99999999999999999999"))) })
	}
}
