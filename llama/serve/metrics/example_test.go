package metrics_test

import (
	"bufio"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/metrics"
)

// The server shows its figures at /metrics.
func Example() {
	m := metrics.New()
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, Observer: m, Metrics: m})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	m.Watch(server)

	listener := httptest.NewServer(server)
	defer listener.Close()
	answer, err := http.Get(listener.URL + "/metrics")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "antigravity_model_loaded") {
			fmt.Println(lines.Text())
		}
	}
	// Output: antigravity_model_loaded{model="flint"} 1
}
