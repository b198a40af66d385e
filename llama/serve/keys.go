package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
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
			return nil, fmt.Errorf("serve: Keys[%d] (%q) must have a secret, without spaces around it", i, k.Name)
		}
		sum := sha256.Sum256([]byte(k.Secret))
		if other, ok := of[sum]; ok && other != k.Name {
			return nil, fmt.Errorf("serve: Keys has the same secret for %q and %q", other, k.Name)
		}
		of[sum] = k.Name
		ring = append(ring, hashedKey{k.Name, sum})
	}
	return ring, nil
}

// empty reports whether there are no keys: every client may send requests.
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

// SetKeys replaces Options.Keys for the requests that come from now on. There must be at least one key: without keys anybody could use the
// server. A key that is not among them no longer lets anybody in; requests that were let in before are served to their end.
func (s *Server) SetKeys(keys ...Key) error {
	if len(keys) == 0 {
		return errors.New("serve: SetKeys: there is no key; at least one is needed, since without keys anybody could use the server")
	}
	ring, err := newKeyring(keys)
	if err == nil {
		s.keys.Store(&ring)
	}
	return err
}

// client is who sends a request.
type client struct {
	name    string   // for the log, and for fairness
	keyed   bool     // the request has a valid key
	key     string   // the key's name
	scope   string   // llama.Params.Scope of its answers
	account *account // nil: nothing bounds the client
}

// client returns who sends a request: the name that Options.Client returns, the owner of the request's key or, if neither is known, an
// address.
func (s *Server) client(r *http.Request) client {
	var c client
	if s.options.Client != nil {
		c.name = s.options.Client(r)
	}
	known := c.name != ""
	if c.key, c.keyed = s.keys.Load().find(r); c.keyed && !known {
		c.name, known = c.key, true
	}
	if known {
		c.account = (*s.accounts.Load())[c.name]
		c.scope = s.scope(c)
		return c
	}
	c.name = r.RemoteAddr
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		c.name = host
	}
	return c
}

// scope returns the name of the cache that a client uses. A cache of one client never has the name of a shared one.
func (s *Server) scope(c client) string {
	switch {
	case s.options.ShareCache:
		return ""
	case c.account != nil && c.account.Cache != "":
		return "cache " + c.account.Cache
	}
	return "client " + c.name
}
