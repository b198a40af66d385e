// The servers that the tests talk to. ../go/with starts them and puts their addresses into the environment:
//
//	(cd ../go && go build -o /tmp/with ./with) && /tmp/with node --test
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
