// A conversation as a request for its next answer.

import { parametersOf } from './settings.js';

// requestFor asks for what follows after these messages. Calls are sent only where their results are, since no model goes on from a
// call that nobody answered; an answer of which nothing is left is not sent at all. truncation 'auto' lets the server leave the oldest out.
// goesOn says that the last message is an answer, whose rest is asked for.
export function requestFor(settings, model, messages, { truncation, goesOn }) {
  return {
    model,
    messages: [...systemOf(settings), ...messages.flatMap((message, index) => onWire[message.role](message, messages[index + 1]))],
    stream: true,
    stream_options: { include_usage: true, include_stats: true },
    return_progress: true,
    ...(truncation && { truncation }),
    ...(goesOn && { continue_final_message: true }),
    ...parametersOf(settings),
  };
}

function systemOf(settings) {
  return settings.system.trim() === '' ? [] : [{ role: 'system', content: settings.system }];
}

// partsOf is the content of a message with pictures: these, and then what is said of them.
function partsOf({ content, images }) {
  const pictures = images.map(({ url }) => ({ type: 'image_url', image_url: { url } }));
  return content.trim() === '' ? pictures : [...pictures, { type: 'text', text: content }];
}

const onWire = {
  user: (message) => [{ role: 'user', content: message.images ? partsOf(message) : message.content }],
  assistant: (message, next) => {
    const calls = next?.role === 'results' ? message.calls : [];
    if (calls.length === 0 && message.content === '') return [];
    // What a model thought goes with what it said: its chat template knows which thoughts it should see again.
    const said = { role: 'assistant', content: message.content, ...(message.thought && { reasoning_content: message.thought }) };
    if (calls.length === 0) return [said];
    return [
      {
        ...said,
        tool_calls: calls.map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } })),
      },
    ];
  },
  results: (message) => message.results.map((result) => ({ role: 'tool', tool_call_id: result.id, content: result.content })),
};
