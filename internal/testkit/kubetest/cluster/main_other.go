//go:build !linux

package main

import "os"

func main() {
	_, _ = os.Stderr.WriteString("a cluster of network namespaces needs Linux\n")
	os.Exit(1)
}
