package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// keyring holds the keys by the hashes of their secrets. It is immutable.
type keyring []hashedKey

type hashedKey struct {
	name string
	sum  [sha256.Size]byte
}

func newKeyring(keys []Key) (keyring, error) {
	var ring keyring
	of := map[[sha256.Size]byte]string{}
	for i, k := range keys {
		if k.Secret == "" || strings.TrimSpace(k.Secret) != k.Secret {
			return nil, fmt.Errorf("serve: Options.Keys[%d] (%q) must have a secret, without spaces around it", i, k.Name)
		}
		sum := sha256.Sum256([]byte(k.Secret))
		if other, ok := of[sum]; ok && other != k.Name {
			return nil, fmt.Errorf("serve: Options.Keys has the same secret for %q and %q", other, k.Name)
		}
		of[sum] = k.Name
		ring = append(ring, hashedKey{k.Name, sum})
	}
	return ring, nil
}

// empty tells whether anybody may come in.
func (k keyring) empty() bool { return len(k) == 0 }

// find returns the name of the key that a request has. How long it takes depends on no secret: hashes are compared, and all of them.
func (k keyring) find(r *http.Request) (name string, ok bool) {
	secrets := []string{r.Header.Get("X-Api-Key")}
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		secrets = append(secrets, strings.TrimSpace(token))
	}
	for _, secret := range secrets {
		sum := sha256.Sum256([]byte(secret))
		for i := range k {
			if subtle.ConstantTimeCompare(sum[:], k[i].sum[:]) == 1 {
				name, ok = k[i].name, true
			}
		}
	}
	return name, ok
}

// client returns whose request it is: the key's owner or, where it has no key, an address.
func (k keyring) client(r *http.Request) string {
	if name, ok := k.find(r); ok {
		return name
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}
