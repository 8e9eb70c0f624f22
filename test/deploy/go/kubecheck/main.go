// kubecheck FOLDER|FILE: builds a kustomization, or reads the objects in a file, and checks each of them against the
// API of Kubernetes and of the Prometheus operator. Prints the objects as YAML. An unknown field, a value of the wrong
// type, a duplicate key or a missing required field gets a line on stderr, and makes the exit code 1.
package main

import (
	"fmt"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "helm" {
		if err := helm(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubecheck FOLDER|FILE, or kubecheck helm COMMAND")
		os.Exit(2)
	}
	objects, err := objectsAt(os.Args[1])
	if err == nil {
		err = monitoring.AddToScheme(scheme.Scheme)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	problems := 0
	for _, object := range objects.Resources() {
		for _, problem := range check(object, strict) {
			problems++
			fmt.Fprintf(os.Stderr, "%s %s: %s\n", object.GetKind(), object.GetName(), problem)
		}
	}
	text, err := objects.AsYaml()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(text)
	if problems > 0 {
		os.Exit(1)
	}
}

func objectsAt(path string) (resmap.ResMap, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(text)
}

func check(object *resource.Resource, strict runtime.Decoder) []string {
	text, err := object.AsYAML()
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	if _, _, err := strict.Decode(text, nil, nil); err != nil {
		problems = append(problems, err.Error())
	}
	content, err := object.Map()
	if err != nil {
		return append(problems, err.Error())
	}
	return append(problems, missing("", content, openapi.SchemaForResourceType(object.CurId().AsTypeMeta()))...)
}

// missing names the required fields that are absent below value. The schema comes with kustomize and describes an older
// API: the strict decoder checks the fields that the schema does not know.
func missing(path string, value any, schema *openapi.ResourceSchema) []string {
	if schema == nil {
		return nil
	}
	var problems []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range schema.Schema.Required {
			if _, found := value[name]; !found {
				problems = append(problems, fmt.Sprintf("missing field \"%s.%s\"", path, name))
			}
		}
		for name, member := range value {
			problems = append(problems, missing(path+"."+name, member, schema.Field(name))...)
		}
	case []any:
		for i, member := range value {
			problems = append(problems, missing(fmt.Sprintf("%s[%d]", path, i), member, schema.Elements())...)
		}
	}
	return problems
}
