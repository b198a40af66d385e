// Pictures in small, of a message or of one that is being written.

import { h } from '../dom.js';
import { iconButton } from '../icons.js';

// thumbnails is a list of pictures, or null if there are none. remove(index), if it is there, takes one away.
export function thumbnails(images, label, remove) {
  if (!images?.length) return null;
  return h(
    'ul',
    { class: 'thumbnails', 'aria-label': label },
    images.map(({ url, name }, index) =>
      h(
        'li',
        null,
        h('img', { src: url, alt: name, title: name }),
        remove && iconButton('close', `Take ${name} away`, () => remove(index)),
      ),
    ),
  );
}
