// Package scope carries in a context the client for which work is done, so that packages which remember what they made do not show one client by their
// time what another sent.
package scope

import "context"

type key struct{}

// With returns a context for the work of a scope. The name is that of llama.Params.Scope; "" is the scope of all who have no name.
func With(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, key{}, name)
}

// Of returns the scope of a context.
func Of(ctx context.Context) string {
	name, _ := ctx.Value(key{}).(string)
	return name
}
