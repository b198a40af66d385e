// The page: one App, and the views that show it.

import { App } from './app.js';
import { find } from './dom.js';
import { icon } from './icons.js';
import { attachTheme } from './theme.js';
import { attachCache } from './views/cache.js';
import { attachComposer, focusComposer } from './views/composer.js';
import { attachFiles } from './views/files.js';
import { attachSettings } from './views/settings.js';
import { attachSidebar, closeDrawer, drawerOpen } from './views/sidebar.js';
import { attachThread } from './views/thread.js';
import { say } from './views/toast.js';

const app = new App();

const begin = () => {
  app.begin();
  closeDrawer();
  focusComposer();
};

find('new-conversation').prepend(icon('plus'));
find('new-conversation').addEventListener('click', begin);
find('to-end').append(icon('down'));
attachTheme(find('theme'));
attachSidebar(app);
attachThread(app);
attachComposer(app);
attachSettings(app);
attachCache(app);
attachFiles(app);
app.addEventListener('notice', ({ detail }) => say(detail));

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('dialog[open], :popover-open')) {
    if (drawerOpen()) closeDrawer();
    else app.stop();
  } else if (event.key.toLowerCase() === 'o' && event.shiftKey && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (!document.querySelector('dialog[open]')) begin();
  }
});

await app.start();
document.body.dataset.ready = ''; // browser tests wait for it
focusComposer();
