// The worker fetches the program and the model at the same time, and runs the program. Both are gzip files that the browser unpacks, so that every server
// of static files serves them well.
importScripts("wasm_exec.js");

function unpacked(name, type) {
  return fetch(name).then((answer) => {
    if (!answer.ok) throw new Error(name + ": " + answer.status);
    const length = Number(answer.headers.get("Content-Length"));
    let read = 0;
    const counted = answer.body.pipeThrough(new TransformStream({
      transform(chunk, to) {
        read += chunk.length;
        postMessage({ kind: "fetched", name, read, length });
        to.enqueue(chunk);
      },
    }));
    return new Response(counted.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": type } });
  });
}

const go = new Go();
Promise.all([
  WebAssembly.instantiateStreaming(unpacked("program.wasm.gz", "application/wasm"), go.importObject),
  unpacked("model.gguf.gz", "application/octet-stream").then((answer) => answer.arrayBuffer()),
]).then(([program, bytes]) => {
  self.model = new Uint8Array(bytes);
  return go.run(program.instance);
}).catch((error) => postMessage({ kind: "failed", text: String(error) }));
