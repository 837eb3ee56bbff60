package drivertest

import "regexp"

var ofLoad = regexp.MustCompile(`too little to tell the path from background packets|timed out|timeout|deadline exceeded|no answer within|the machine did not schedule the endpoints`)

// LoadExplains reports whether a trial may fail for this reason on a machine that does other
// things: its ends were held up, and so carried too little for a proof or missed a deadline.
func LoadExplains(reason string) bool { return ofLoad.MatchString(reason) }
