// Saving all conversations in a file, and taking them from one.

import { find, h } from '../dom.js';
import { icon } from '../icons.js';
import { say } from './toast.js';

export function attachFiles(app) {
  const file = find('import-file');
  find('export').prepend(icon('out'));
  find('export').addEventListener('click', () => {
    const url = URL.createObjectURL(new Blob([app.exportFile()], { type: 'application/json' }));
    const link = h('a', { href: url, download: `conversations-${new Date().toISOString().slice(0, 10)}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  find('import').prepend(icon('in'));
  find('import').addEventListener('click', () => file.click());
  file.addEventListener('change', async () => {
    try {
      const added = app.importFile(await file.files[0].text());
      say(
        added === 0
          ? 'All of these conversations were here already.'
          : `${added} ${added === 1 ? 'conversation was' : 'conversations were'} added.`,
      );
    } catch (error) {
      say(error.message);
    }
    file.value = ''; // the same file can be chosen again
  });
}
