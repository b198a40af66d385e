module antigravity.test/clients

go 1.26.0

require github.com/antigravity-go/antigravity v0.0.0

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/antigravity-go/antigravity => ../../..
