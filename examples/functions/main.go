// Functions answers questions by calling Go functions: of each, the model gets its name, its purpose and its arguments.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
)

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

type numbers struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b" jsonschema:"second number"`
}

// toolbox holds functions by their names, and their descriptions for a model.
type toolbox struct {
	tools []json.RawMessage
	calls map[string]func(arguments []byte) any
}

// add puts a function into the box. Arguments that it is called with fit A: the constraint sees to that.
func add[A any](b *toolbox, name, does string, f func(A) any) {
	b.tools = append(b.tools, must(constrain.Function[A](name, does)))
	b.calls[name] = func(arguments []byte) any {
		var a A
		must(0, json.Unmarshal(arguments, &a))
		return f(a)
	}
}

func main() {
	question := flag.String("question", "How warm is it in Nairobi?", "`text` of the question: about the weather, or a sum")
	flag.Usage = func() {
		fmt.Println("functions asks the embedded model a question that it answers by calling Go functions, and prints the calls and the answer.")
		flag.CommandLine.SetOutput(os.Stdout)
		flag.PrintDefaults()
	}
	flag.Parse()
	box := &toolbox{calls: map[string]func([]byte) any{}}
	add(box, "get_weather", "Tells the weather in a city.", func(p place) any {
		return map[string]any{"temperature": 10 + len(p.City), "sky": "sunny"}
	})
	add(box, "add", "Adds two numbers.", func(n numbers) any { return map[string]int{"result": n.A + n.B} })

	model := must(flint.Load(nil)) // or llama.Load("Llama-3.2-1B-Instruct", nil)
	defer model.Close()
	session := must(model.NewSession(nil))
	params := llama.Params{
		Template:   llama.TemplateOptions{Tools: box.tools},
		Constraint: must(constrain.Tools(model.Tokenizer(), box.tools, constrain.ToolOptions{})),
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: *question}}
	for range 8 { // a model that never stops calling is stopped
		answer := must(llama.Collect(session.Chat(context.Background(), history, params)))
		history = append(history, answer.Message)
		for _, call := range answer.Message.ToolCalls {
			result := must(json.Marshal(box.calls[call.Name](call.Arguments)))
			fmt.Printf("%s(%s) = %s\n", call.Name, call.Arguments, result)
			history = append(history, llama.Message{Role: llama.RoleTool, Content: string(result), ToolCallID: call.ID})
		}
		if answer.Stop != llama.ToolCalled {
			fmt.Println(answer.Text)
			return
		}
	}
}

// must returns v, or ends the program with an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
