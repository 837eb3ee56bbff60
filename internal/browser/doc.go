// Package browser contains the tests that open reports and the pages of tare serve in a
// real browser, headless Chromium. It contains nothing else.
package browser
