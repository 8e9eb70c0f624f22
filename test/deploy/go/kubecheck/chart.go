package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/registry"
)

// helm does what these commands of Helm do, without a cluster:
//
//	lint CHART [--values FILE]
//	package CHART [--destination FOLDER]
//	push PACKAGE oci://FOLDER --plain-http
//	install|upgrade|template NAME CHART [--version VERSION] [--namespace NAMESPACE] [--values FILE]
//
// lint prints the warnings and errors of Helm's linter; the last three print the objects. CHART is a folder, a package, or
// oci://… with a version. There is no registry but on loopback. `--install`,
// `--create-namespace` and `--wait` are for a cluster, and do nothing here.
func helm(args []string) error {
	namespace, file, destination, version := "default", "", ".", ""
	var words []string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--namespace", "--values", "--destination", "--version":
			if i++; i == len(args) {
				return fmt.Errorf("%s needs a value", args[i-1])
			}
			switch args[i-1] {
			case "--namespace":
				namespace = args[i]
			case "--values":
				file = args[i]
			case "--version":
				version = args[i]
			default:
				destination = args[i]
			}
		case "--install", "--create-namespace", "--wait", "--plain-http":
		default:
			words = append(words, args[i])
		}
	}
	values := chartutil.Values{}
	if file != "" {
		var err error
		if values, err = chartutil.ReadValuesFile(file); err != nil {
			return err
		}
	}
	if len(words) == 2 && words[0] == "lint" {
		return lintChart(words[1], namespace, values)
	}
	if len(words) == 2 && words[0] == "package" {
		return save(words[1], destination)
	}
	if len(words) == 3 && words[0] == "push" {
		return push(words[1], words[2])
	}
	if len(words) == 3 && (words[0] == "install" || words[0] == "upgrade" || words[0] == "template") {
		return template(words[1], words[2], version, namespace, values)
	}
	return fmt.Errorf("cannot run helm %s", strings.Join(args, " "))
}

func lintChart(folder, namespace string, values chartutil.Values) error {
	result := lint.AllWithKubeVersion(folder, values, namespace, nil)
	var problems []string
	for _, message := range result.Messages {
		if message.Severity >= support.WarningSev {
			problems = append(problems, message.Error())
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	fmt.Println("0 chart(s) failed")
	return nil
}

func save(folder, destination string) error {
	loaded, err := loader.Load(folder)
	if err != nil {
		return err
	}
	path, err := chartutil.Save(loaded, destination)
	if err != nil {
		return err
	}
	fmt.Printf("Successfully packaged chart and saved it to: %s\n", path)
	return nil
}

// push prints what Helm prints: the name and the digest.
func push(path, folder string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	packed, err := loader.Load(path)
	if err != nil {
		return err
	}
	client, err := loopbackClient()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s/%s:%s", strings.TrimPrefix(folder, "oci://"), packed.Name(), packed.Metadata.Version)
	_, err = client.Push(data, name)
	return err
}

func loopbackClient() (*registry.Client, error) {
	return registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(os.Stderr))
}

func load(place, version string) (*chart.Chart, error) {
	if !registry.IsOCI(place) {
		return loader.Load(place)
	}
	client, err := loopbackClient()
	if err != nil {
		return nil, err
	}
	pulled, err := client.Pull(strings.TrimPrefix(place, "oci://") + ":" + version)
	if err != nil {
		return nil, err
	}
	return loader.LoadArchive(bytes.NewReader(pulled.Chart.Data))
}

func template(name, place, version, namespace string, values chartutil.Values) error {
	loaded, err := load(place, version)
	if err != nil {
		return err
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	// Also checks the values against values.schema.json.
	all, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return err
	}
	var names []string
	for name := range files {
		if filepath.Ext(name) == ".yaml" && strings.TrimSpace(files[name]) != "" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(os.Stdout, "---\n# Source: %s\n%s\n", name, files[name])
	}
	return nil
}
