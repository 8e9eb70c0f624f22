//go:build tools

// Keeps the programs that are built by their package paths in go.mod.
package tools

import (
	_ "github.com/google/go-containerregistry/cmd/registry"
	_ "github.com/rhysd/actionlint/cmd/actionlint"
)
