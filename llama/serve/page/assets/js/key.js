// The key that the server asks for. It is kept until this tab is closed, and never among the conversations.

const name = 'antigravity.key';
let kept = ''; // for browsers that keep nothing

export function readKey() {
  try {
    return sessionStorage.getItem(name) ?? kept;
  } catch {
    return kept;
  }
}

// writeKey keeps the key; an empty one forgets it.
export function writeKey(key) {
  kept = key;
  try {
    if (key) sessionStorage.setItem(name, key);
    else sessionStorage.removeItem(name);
  } catch {
    // kept has it.
  }
}
