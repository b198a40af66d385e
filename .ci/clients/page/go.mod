module github.com/antigravity-go/antigravity/.ci/clients/page

go 1.26.0

require (
	github.com/antigravity-go/antigravity v0.0.0
	github.com/chromedp/cdproto v0.0.0
	github.com/chromedp/chromedp v0.23.0
)

replace github.com/antigravity-go/antigravity => ../../..
