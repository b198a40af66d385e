// Deleting a message.

import { announce } from '../announcer.js';
import { iconButton } from '../icons.js';
import { focusComposer } from './composer.js';
import { confirmRemoval } from './confirm.js';

// deleteButton deletes a message, with what follows it, when the reader has said yes.
export function deleteButton(app, message, { busy }) {
  const remove = async () => {
    const more = app.removal(message).length - 1;
    const rest =
      more === 0 ? '' : more === 1 ? ' with the message that follows it' : ` with the ${more} messages that follow it, in all versions`;
    if (!(await confirmRemoval('Delete this message?', `It will be gone from this browser${rest}. This cannot be undone.`))) return;
    await app.removeMessage(message);
    announce('The message is deleted');
    focusComposer();
  };
  return iconButton('trash', 'Delete the message', remove, { disabled: busy });
}
