package jsonschema

// Limit lets a test do with fewer steps than maxSteps.
func (b *Budget) Limit(steps int) { b.most = min(steps, maxSteps) }
