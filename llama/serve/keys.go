package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
)

// keyring holds the keys by the hashes of their secrets.
type keyring []hashedKey

type hashedKey struct {
	name string
	sum  [sha256.Size]byte
}

func newKeyring(keys []Key) (keyring, error) {
	ring := keyring{}
	for i, k := range keys {
		if k.Secret == "" {
			return nil, fmt.Errorf("serve: Options.Keys[%d] (%s) has no secret", i, k.Name)
		}
		ring = append(ring, hashedKey{k.Name, sha256.Sum256([]byte(k.Secret))})
	}
	return ring, nil
}

// find returns the name of the key that a request has. How long it takes depends on no secret: all keys are compared, by their hashes.
func (k keyring) find(r *http.Request) (name string, ok bool) {
	secret := r.Header.Get("X-Api-Key")
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		secret = strings.TrimSpace(token)
	}
	sum := sha256.Sum256([]byte(secret))
	for i := range k {
		if subtle.ConstantTimeCompare(sum[:], k[i].sum[:]) == 1 {
			name, ok = k[i].name, true
		}
	}
	return name, ok
}
