module github.com/antigravity-go/antigravity/asm/asmgen

go 1.26.0

require (
	github.com/antigravity-go/antigravity v0.1.0
	github.com/mmcloughlin/avo v0.6.0
)

require (
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
