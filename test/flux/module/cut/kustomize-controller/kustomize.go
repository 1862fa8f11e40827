// Package kustomize lets another module run the reconciler of Kustomizations.
package kustomize

import "github.com/fluxcd/kustomize-controller/internal/controller"

type (
	Reconciler = controller.KustomizationReconciler
	Options    = controller.KustomizationReconcilerOptions
)
