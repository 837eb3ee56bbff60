package drivertest

import (
	"os"
	"time"
)

// HogMemory uses 512 MiB, to meet the limit of the container that the test program runs in, and ends the program with exit code 3 if it has none.
func HogMemory() {
	var held [][]byte
	for range 64 {
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
	}
	time.Sleep(time.Duration(len(held)) * time.Second)
	os.Exit(3)
}
