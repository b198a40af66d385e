package serve

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Account is the limits of a client that the server knows by name: the owner of a key, or the name that Options.Client returns. The zero
// value sets no limits.
type Account struct {
	// RequestsPerMinute is how many requests that need a key the client may send a minute; 0: any number. As many may come at once; then one
	// more may come each minute/RequestsPerMinute. A request beyond it has status 429, and a Retry-After that says when to try again.
	// A request that is answered with another error counts as any other: it was read, which is work. One that has status 429 does not.
	RequestsPerMinute int
	// TokensPerDay is how many tokens the client may use a day, from midnight to midnight UTC: those of its prompts, cached ones included, and
	// of its answers; 0: any number. A request that is refused costs nothing. Once they are used, requests that would compute have status 429, and
	// a Retry-After of the time until midnight. A request that has been let in goes on to its end, so the last ones may exceed the number. The
	// count begins anew with the Server.
	TokensPerDay int64
	// Cache names a cache of prompts. Clients with the same Cache in their Accounts share it: members of a team that trust each other. "":
	// the client has a cache of its own. Clients that share a cache can learn something about each other's prompts; see Options.ShareCache.
	Cache string
}

// account is an Account, and what its client has used of it.
type account struct {
	Account
	client string
	used   *usage
}

// usage is what a client has used of its account. It outlives changes of the account.
type usage struct {
	mu     sync.Mutex
	due    time.Time // when the next request would come if all of them kept their distance; see request
	day    int64     // that tokens are of, in days since 1970
	tokens int64
}

// accounts are the accounts by the clients' names. A map never changes.
type accounts map[string]*account

// newAccounts returns accounts with the new limits. Clients keep the usage that they have in old.
func newAccounts(granted map[string]Account, old accounts) (accounts, error) {
	made := accounts{}
	for client, a := range granted {
		switch {
		case client == "":
			return nil, errors.New(`serve: Accounts has the name ""; it must be a client's`)
		case a.RequestsPerMinute < 0 || a.TokensPerDay < 0:
			return nil, fmt.Errorf("serve: Accounts[%q] has %d RequestsPerMinute and %d TokensPerDay; they must be positive, or 0 for no bound",
				client, a.RequestsPerMinute, a.TokensPerDay)
		}
		made[client] = &account{a, client, &usage{}}
		if before := old[client]; before != nil {
			made[client].used = before.used
		}
	}
	return made, nil
}

// SetAccounts replaces Options.Accounts: for the requests that come from now on. What a client has used so far counts on.
func (s *Server) SetAccounts(granted map[string]Account) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	made, err := newAccounts(granted, *s.accounts.Load())
	if err == nil {
		s.accounts.Store(&made)
	}
	return err
}

// admit counts a request that comes now, and returns the error of one that is too many. computes says that the request may take tokens. A nil
// account admits everything.
func (a *account) admit(now time.Time, computes bool) error {
	if a == nil {
		return nil
	}
	a.used.mu.Lock()
	defer a.used.mu.Unlock()
	if computes {
		if err := a.judgeTokens(now); err != nil {
			return err
		}
	}
	return a.request(now)
}

// judgeTokens returns an error if the tokens of the day are used up.
func (a *account) judgeTokens(now time.Time) error {
	day := dayOf(now)
	if a.TokensPerDay == 0 || a.used.day != day || a.used.tokens < a.TokensPerDay {
		return nil
	}
	wait := time.Unix((day+1)*secondsPerDay, 0).Sub(now)
	return &wire.Error{Status: http.StatusTooManyRequests, Code: "insufficient_quota", RetryAfter: wait,
		Message: fmt.Sprintf("%s has used %d tokens today, and may use %d a day; the next day begins at midnight UTC, in %v",
			clipped(a.client), a.used.tokens, a.TokensPerDay, wait.Round(time.Minute))}
}

// request counts a request, or returns the error of one that is too many (the generic cell rate algorithm). With 3 requests a minute, requests
// are due 20 s after one another. One may come as much as 40 s before it is due: three at once, and then one every 20 s.
func (a *account) request(now time.Time) error {
	if a.RequestsPerMinute == 0 {
		return nil
	}
	distance := time.Minute / time.Duration(a.RequestsPerMinute)
	early := distance * time.Duration(a.RequestsPerMinute-1)
	if wait := a.used.due.Sub(now.Add(early)); wait > 0 {
		requests := "1 request"
		if a.RequestsPerMinute > 1 {
			requests = fmt.Sprintf("%d requests", a.RequestsPerMinute)
		}
		return &wire.Error{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: wait,
			Message: fmt.Sprintf("%s may send %s a minute, and has sent more; try again in %v",
				clipped(a.client), requests, max(wait.Round(time.Second), time.Second))}
	}
	if a.used.due.Before(now) {
		a.used.due = now
	}
	a.used.due = a.used.due.Add(distance)
	return nil
}

// spend counts the tokens of an answer that is over.
func (a *account) spend(now time.Time, s llama.Stats) {
	if a == nil {
		return
	}
	a.used.mu.Lock()
	defer a.used.mu.Unlock()
	if day := dayOf(now); a.used.day != day {
		a.used.day, a.used.tokens = day, 0
	}
	a.used.tokens += int64(s.PromptTokens) + int64(s.GeneratedTokens)
}

const secondsPerDay = 24 * 60 * 60

// dayOf returns the day of a time, in UTC, in days since 1970.
func dayOf(now time.Time) int64 { return now.Unix() / secondsPerDay }
