// The field for the next message with its pictures, and the button that sends it or stops the answer.

import { find, show } from '../dom.js';
import { icon } from '../icons.js';
import { accepted, imageFiles, readImages } from '../images.js';
import { thumbnails } from './pictures.js';
import { say } from './toast.js';
import { grow } from './turn.js';

export function attachComposer(app) {
  const field = find('prompt');
  const button = find('send');
  const attach = find('attach');
  const file = find('attach-file');
  const shownImages = find('attached');
  let images = []; // of the next message

  const ready = () => (field.value.trim() !== '' || images.length > 0) && app.models.length > 0;

  const send = () => {
    if (!ready() || app.busy) return;
    const text = field.value;
    const pictures = images;
    field.value = '';
    images = [];
    grow(field);
    app.send(text, pictures);
    draw();
  };

  const draw = () => {
    const { busy } = app;
    button.replaceChildren(icon(busy ? 'stop' : 'send'));
    const label = busy ? 'Stop' : 'Send';
    button.setAttribute('aria-label', label);
    button.title = busy ? 'Stop (Esc)' : 'Send (Enter)';
    button.disabled = !busy && !ready();
    button.classList.toggle('stopping', busy);
    show(attach, app.sees);
    const list = thumbnails(images, 'Pictures to send', (index) => {
      images = images.toSpliced(index, 1);
      draw();
      field.focus();
    });
    shownImages.replaceChildren(...(list ? [list] : []));
  };

  // take adds the pictures among files. It returns whether there are any.
  const take = (files) => {
    const pictures = imageFiles(files);
    if (pictures.length === 0) return false;
    if (!app.sees) {
      say(`${app.model} sees no pictures.`);
      return true;
    }
    readImages(pictures, images.length).then(
      (added) => {
        images = [...images, ...added];
        draw();
        field.focus();
      },
      (error) => say(error.message),
    );
    return true;
  };

  attach.append(icon('picture'));
  attach.addEventListener('click', () => file.click());
  file.accept = accepted;
  file.addEventListener('change', () => {
    take(file.files);
    file.value = ''; // the same file can be chosen again
  });
  field.addEventListener('paste', (event) => {
    if (take(event.clipboardData?.files)) event.preventDefault();
  });
  const box = find('main');
  const carriesFiles = (event) => event.dataTransfer?.types.includes('Files');
  box.addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault(); // or the browser leaves the page for the file
    box.classList.toggle('dropping', app.sees);
  });
  box.addEventListener('dragleave', (event) => {
    if (!box.contains(event.relatedTarget)) box.classList.remove('dropping');
  });
  box.addEventListener('drop', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    box.classList.remove('dropping');
    if (!take(event.dataTransfer.files)) say('Only pictures can be sent.');
  });

  button.addEventListener('click', () => {
    if (app.busy) app.stop();
    else send();
    field.focus();
  });
  field.addEventListener('input', () => {
    grow(field);
    draw();
  });
  field.addEventListener('keydown', (event) => {
    // While an input method composes a letter, Enter belongs to it.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  app.addEventListener('thread', draw);
  app.addEventListener('models', draw);
  draw();
}

// focusComposer puts the cursor into the field, except where that would bring up a keyboard on the screen.
export function focusComposer() {
  if (!matchMedia('(pointer: coarse)').matches) find('prompt').focus();
}
