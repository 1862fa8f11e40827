// Reads objects as JSON from stdin and prints what kstatus says about each, one line per object. It is the kstatus that Helm and Flux use.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	for decoder.More() {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			log.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			log.Fatal(err)
		}
		result, err := status.Compute(object)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Status)
	}
}
