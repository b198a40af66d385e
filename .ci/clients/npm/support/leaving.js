// leaves checks that an answer whose client leaves ends. It is given two functions: begin starts an answer that takes a model as long as
// its context lasts, and returns, once the first piece of it has come, { whole, leave }: whole is a promise of the answer's end and leave
// the client's way of leaving. ask asks something short. The server computes one answer at a time, so that the short one comes soon only
// if nobody computes the long one any more.
import assert from 'node:assert/strict';

export async function leaves(begin, ask) {
  const started = performance.now();
  await (await begin()).whole;
  const long = performance.now() - started;

  const answer = await begin();
  await answer.leave();
  await Promise.allSettled([answer.whole]);
  const left = performance.now();
  await ask();
  const waited = performance.now() - left;
  assert.ok(waited < long / 2, `the answer of a client that left kept another waiting for ${waited | 0} ms; all of it takes ${long | 0} ms`);
}

// crowd checks what a client is told when too many ask at once. begin is as for leaves; ask(), started eight times while the long answer
// is computed, must fail with an error that refused recognises, but for those that the server lets wait. It returns the errors.
export async function crowd(begin, ask, refused) {
  const answer = await begin();
  const asked = Array.from({ length: 8 }, ask);
  const errors = [];
  // Who waits is answered once the long answer is over: it is ended when the first has been refused.
  const first = Promise.any(asked.map((a) => a.then(() => Promise.reject(new Error('answered')), (e) => e)));
  await first;
  await answer.leave();
  await Promise.allSettled([answer.whole]);
  for (const outcome of await Promise.allSettled(asked)) {
    if (outcome.status === 'rejected') errors.push(outcome.reason);
  }
  assert.ok(errors.length > 0, 'eight requests at once were answered by a server in which one may wait');
  assert.ok(errors.length < asked.length, 'nobody was let wait');
  for (const e of errors) assert.ok(refused(e), `not the error of a server that has too much to do: ${e}`);
  return errors;
}
