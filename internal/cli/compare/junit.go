package compare

import (
	"encoding/xml"
	"fmt"
	"io"

	"tare/internal/wording"
)

// checkCase is one thing that a check looks at, as CI systems show it: a cell, what is missing or not comparable, a limit,
// or the check as a whole. It has failed with Failure, is undecided with Open, or has passed. All may be of foreign origin.
type checkCase struct {
	Group, Name string // Group is the workload, or a word such as limits
	Kind        string // of the failure: worse, lost, refused, cannot_tell, limit or unfit
	Failure     string
	Open        string
	Passed      string // what was seen, for the record
}

// The elements of JUnit's XML that the CI systems agree on.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes the cases of a check as JUnit XML: a testcase each, failed with the sentence, skipped where it cannot
// be told. Its only errors are those of w.
func writeJUnit(w io.Writer, cases []checkCase) error {
	var out junitSuite
	out.Name = "tare check"
	for _, c := range cases {
		one := junitCase{Class: "tare." + wording.Clean(c.Group), Name: wording.Clean(c.Name), Out: wording.Clean(c.Passed)}
		switch {
		case c.Failure != "":
			one.Failure = &junitMessage{c.Kind, wording.Clean(c.Failure)}
			out.Failures++
		case c.Open != "":
			one.Skipped = &junitMessage{Message: wording.Clean(c.Open)}
			out.Skipped++
		}
		out.Cases = append(out.Cases, one)
	}
	out.Tests = len(out.Cases)
	text, err := xml.MarshalIndent(junitSuites{Tests: out.Tests, Failures: out.Failures, Skipped: out.Skipped, Suite: out}, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
