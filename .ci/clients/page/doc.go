// Package page holds the tests of the server's web page, and of the dashboard of examples/tools/dashboard, in a real browser, Debian's
// chromium. It is a module of its own so that nobody who uses Antigravity needs a browser's driver.
//
//	go test ./...                                             # needs chromium
//	AXE=../npm/node_modules/axe-core/axe.min.js go test ./... # also lets axe-core look for barriers to people with disabilities
//	go test -run Looks -screenshots FOLDER                    # pictures to look at; with -results FOLDER the dashboard's show those results
package page
