package labdriver

// LinuxOnly is embedded in a driver. On other systems it reports all of its modes as
// unsupported.
type LinuxOnly struct{}
