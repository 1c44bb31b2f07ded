// hcl parses a Terraform file from standard input with Terraform's parser, and prints its resources as a JSON array:
//
//	[{"type": "...", "name": "...", "values": {...}}]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

type resource struct {
	Type   string                             `json:"type"`
	Name   string                             `json:"name"`
	Values map[string]ctyjson.SimpleJSONValue `json:"values"`
}

func main() {
	resources, err := parse(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(resources)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse(in io.Reader) ([]resource, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	file, problems := hclsyntax.ParseConfig(text, "records.tf", hcl.InitialPos)
	if problems.HasErrors() {
		return nil, problems
	}
	schema := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "resource", LabelNames: []string{"type", "name"}}}}
	content, problems := file.Body.Content(schema)
	if problems.HasErrors() {
		return nil, problems
	}
	resources := []resource{}
	for _, block := range content.Blocks {
		attributes, problems := block.Body.JustAttributes()
		if problems.HasErrors() {
			return nil, problems
		}
		values := map[string]ctyjson.SimpleJSONValue{}
		for name, attribute := range attributes {
			value, problems := attribute.Expr.Value(nil)
			if problems.HasErrors() {
				return nil, problems
			}
			values[name] = ctyjson.SimpleJSONValue{Value: value}
		}
		resources = append(resources, resource{Type: block.Labels[0], Name: block.Labels[1], Values: values})
	}
	return resources, nil
}
