// Pictures that go with a message: {url, name}, url being a data: URL of a kind that the server reads.

const kinds = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const largest = 1 << 20; // bytes of a file that is kept as it is
const longest = 1536; // pixels of a side, beyond which a picture is made smaller: conversations are kept with their pictures
const most = 16; // pictures in a message

// imageFiles is the files of a list that are pictures.
export const imageFiles = (files) => [...(files ?? [])].filter((file) => file.type.startsWith('image/'));

// accepted is what the field for files offers.
export const accepted = kinds.join(',');

// readImages makes pictures of files. It throws an Error in words for the first that is none, or if they are too many with those
// that are there already.
export async function readImages(files, there) {
  if (there + files.length > most) throw new Error(`A message takes ${most} pictures.`);
  return Promise.all(files.map(readImage));
}

async function readImage(file) {
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name || 'The picture'} cannot be read: it must be a PNG, JPEG, GIF or WebP.`);
  }
  const scale = Math.min(1, longest / Math.max(picture.width, picture.height));
  const name = file.name || 'picture';
  if (kinds.includes(file.type) && scale === 1 && file.size <= largest) return { url: await dataURL(file), name };
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext('2d');
  context.fillStyle = 'white'; // on which models see what is transparent
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return { url: canvas.toDataURL('image/jpeg', 0.92), name };
}

function dataURL(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

// isImageURL says whether a text is the data: URL of a picture, as this page makes them.
export const isImageURL = (text) => /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(text);

// drawnShapes is a picture of circles and squares, to try a model with.
export function drawnShapes() {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [320, 256];
  const context = canvas.getContext('2d');
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = '#dc2828';
  for (const [x, y] of [[70, 70], [190, 60], [250, 180]]) {
    context.beginPath();
    context.arc(x, y, 34, 0, 2 * Math.PI);
    context.fill();
  }
  context.fillStyle = '#2850dc';
  for (const [x, y] of [[50, 155], [140, 135]]) context.fillRect(x, y, 56, 56);
  return { url: canvas.toDataURL('image/png'), name: 'shapes' };
}
