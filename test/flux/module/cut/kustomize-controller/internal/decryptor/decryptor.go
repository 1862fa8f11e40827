// Package decryptor decrypts nothing.
package decryptor

import (
	"context"
	"errors"

	"github.com/fluxcd/pkg/cache"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/resource"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

type Decryptor struct{}
type Option func()

func WithRoot(string) Option                   { return nil }
func WithTokenCache(cache.TokenCache) Option   { return nil }
func WithSOPSAgeSecret(string, string) Option  { return nil }
func WithVaultConfigMap(string, string) Option { return nil }

func New(_ client.Client, object *kustomizev1.Kustomization, _ ...Option) (*Decryptor, func(), error) {
	if object.Spec.Decryption != nil {
		return nil, nil, errors.New("decryption is cut out of this build")
	}
	return &Decryptor{}, func() {}, nil
}

func IsDecryptionDisabled(map[string]string) bool                                   { return true }
func IsEncryptedSecret(*unstructured.Unstructured) bool                             { return false }
func (*Decryptor) ImportKeys(context.Context) error                                 { return nil }
func (*Decryptor) SetAuthOptions(context.Context)                                   {}
func (*Decryptor) DecryptSources(string) error                                      { return nil }
func (*Decryptor) DecryptResource(r *resource.Resource) (*resource.Resource, error) { return r, nil }
