// Package source lets another module run the reconciler of GitRepositories.
package source

import "github.com/fluxcd/source-controller/internal/controller"

type (
	Reconciler = controller.GitRepositoryReconciler
	Options    = controller.GitRepositoryReconcilerOptions
)
