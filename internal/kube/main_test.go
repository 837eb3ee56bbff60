//go:build linux

package kube_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"tare/internal/testkit/kubetest"
)

// Hidden commands of this test program, which run in pods.
const (
	echoCommand = "kube-echo" // writes what it reads until echoEnd, and exits with status 7
	hangCommand = "kube-hang" // writes a byte, and does not end
	echoEnd     = "\x00"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case echoCommand:
			echo()
		case hangCommand:
			_, _ = os.Stdout.WriteString("x")
			time.Sleep(time.Hour)
		}
	}
	kubetest.Main(m)
}

func echo() {
	b := make([]byte, 32<<10)
	for {
		n, err := os.Stdin.Read(b)
		text, _, end := bytes.Cut(b[:n], []byte(echoEnd))
		if _, err := os.Stdout.Write(text); err != nil {
			os.Exit(1)
		}
		if end {
			_, _ = io.WriteString(os.Stderr, "the end")
			os.Exit(7)
		}
		if err != nil {
			os.Exit(1)
		}
	}
}
