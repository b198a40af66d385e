// The servers that the tests talk to. ../go/with starts them and puts their addresses into the environment:
//
//	go build -C ../go -o /tmp/with ./with && /tmp/with npm test
//
// Files are tested one after the other: two that fill the small server at once would see each other's requests.
import assert from 'node:assert/strict';

function variable(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: ../go/with starts the servers and sets it`);
  return value;
}

// url is where Flint and Pebble are served, to whoever has the key.
export const url = variable('ANTIGRAVITY_URL');

// smallURL is where Flint is served by a server that computes one answer at a time, and lets one more wait.
export const smallURL = variable('ANTIGRAVITY_SMALL_URL');

export const key = variable('ANTIGRAVITY_KEY');
