// Identifiers of conversations, messages and tool calls.

// newID is 96 random bits. crypto.randomUUID is not used because browsers offer it on https and localhost only.
export function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
