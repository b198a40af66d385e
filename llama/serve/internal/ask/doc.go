// Package ask computes the answers of a request, for all interfaces. A handler does six things:
//
//	err := service.Read(w, r, rules, &in)                         // read the request, within the memory that requests have
//	m, err := service.Open(ctx, name)                             // take the model, which may have to be loaded
//	err = m.Constrain(ctx, &params, tools, form, names)           // make the constraint of functions and form
//	prompt, err := m.Prompt(ctx, history, params.Template, names) // render the conversation
//	answers, err := m.Ask(ctx, choices, names)                    // check the choices, wait for places, compute
//	err = answers.Stream(events, ping, take)                      // write the events; or answers.Collect(take)
//
// All answers of a request are computed at the same time. Errors name parameters as the interface does: see FieldNames.
package ask
