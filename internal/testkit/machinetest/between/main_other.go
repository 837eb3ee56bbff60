//go:build !linux

package main

import "os"

func main() {
	_, _ = os.Stderr.WriteString("machines in network namespaces need Linux\n")
	os.Exit(1)
}
