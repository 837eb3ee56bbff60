// Package browser holds the tests that drive the report and the pages of tare serve in
// a real browser, headless Chromium. There is nothing else in it.
package browser
