// Light, dark, or what the system says. early.js sets it before the first drawing; here it is switched.

import { icon } from './icons.js';

const key = 'antigravity.theme';
const themes = [
  { name: 'auto', picture: 'auto', label: 'Colours: as the system' },
  { name: 'light', picture: 'sun', label: 'Colours: light' },
  { name: 'dark', picture: 'moon', label: 'Colours: dark' },
];

// attachTheme makes button go through the themes.
export function attachTheme(button) {
  let at = Math.max(
    0,
    themes.findIndex((theme) => theme.name === document.documentElement.dataset.theme),
  );
  const draw = () => {
    const { picture, label } = themes[at];
    button.replaceChildren(icon(picture));
    button.setAttribute('aria-label', label);
    button.title = label;
  };
  button.addEventListener('click', () => {
    at = (at + 1) % themes.length;
    const { name } = themes[at];
    if (name === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    try {
      localStorage.setItem(key, name);
    } catch {
      // It lasts until the page is closed.
    }
    draw();
  });
  draw();
}
