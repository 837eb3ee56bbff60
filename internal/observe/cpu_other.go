//go:build !windows && !darwin

package observe

// readCPU reads the file of CPU times.
func readCPU(path string) (*cpuSample, error) { return readStat(path) }
