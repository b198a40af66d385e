module github.com/antigravity-go/antigravity/llama/with/chromem

go 1.26.0

replace github.com/antigravity-go/antigravity => ../../..

require github.com/antigravity-go/antigravity v0.1.0

require github.com/philippgille/chromem-go v0.7.0

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/image v0.44.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
