// Package hub fetches models by their names: from the Hugging Face Hub, or from a URL. It is for programs that should run without a model on
// the machine: Get returns the path for llama.Load, and fetches nothing that is there already.
//
//	path, err := hub.Get(ctx, "hf:unsloth/Llama-3.2-1B-Instruct-GGUF:Q4_K_M", nil)
//	…
//	model, err := llama.Load(path, nil)
//
// # Names
//
//	hf:owner/name                  a repository: its safetensors folder, its LoRA adapter or, if it has only GGUF files, the one of the type Q4_K_M
//	hf:owner/name:Q4_K_M           the GGUF file of a type, in capitals or not
//	hf:owner/name/dir/file.gguf    one file
//	hf:owner/name@v1.0             at a branch, a tag or a commit; also …@v1.0:Q4_K_M, …@v1.0/file.gguf, …:Q4_K_M@v1.0 and …/file.gguf@v1.0
//	https://host/path/file.gguf    a file of any server; with #sha256=… it is checked
//
// A slash in a revision that stands before a file or a type is written %2F, except in refs/pr/N. Addresses of pages and files on
// huggingface.co, as a browser shows them, mean the same as names. Anything else is a path, and Get returns it as it is. GGUF files that
// are split into parts (name-00001-of-00003.gguf) are fetched whole, and the path is that of the first part. With a GGUF file comes the file of its
// tower (mmproj*.gguf in the same folder), which llama.Load finds there.
//
// # Where files are kept
//
// Models of the hub are kept in the cache of Python's huggingface_hub, in its layout, so that both find each other's files: blobs under
// their checksums, snapshots/COMMIT with symbolic links to them, refs with the commit of each branch. HF_HUB_CACHE, HF_HOME and
// XDG_CACHE_HOME set the folder. HF_TOKEN, HF_TOKEN_PATH or the file "token" in HF_HOME has the access token. HF_ENDPOINT is the server,
// HF_HUB_OFFLINE=1 forbids the network, and HF_HUB_DISABLE_SYMLINKS=1 forbids links. If links are impossible, as on Windows without
// developer mode, the file itself lies in the snapshot. Files of other servers are kept in a folder of this package, under their addresses.
// A server that sends neither an ETag nor a date may have another file each time: without #sha256= Get fetches it again.
//
// Only files that llama.Load and LoadAdapter read are fetched. Files in the cache are not fetched again: Get sends one request, for the
// branch's commit, or no request if the name has a commit. If the hub cannot be reached, Get takes the model from the cache, if it is
// complete there.
//
// List returns the models in the cache, with their sizes, and Remove removes one, without what other revisions use.
//
// # What holds
//
// A file of the hub becomes visible under its name when all of it has arrived and its checksum (SHA-256, or Git's SHA-1 for small files) is
// the one that the hub lists: whatever the network or the server does, nothing damaged is loaded. Large files come in several ranges at
// once. If a program is interrupted, the ranges that have arrived stay, and the next program continues. Programs that want the same file
// wait for the one that fetches it, through file locks that Python's library respects, too. The token is sent to the endpoint and nowhere
// else, neither to servers that it redirects to nor to other URLs. No name that a server lists can lead out of the cache's folder.
//
// # Why this is written here
//
// The package is net/http and a file lock. Of the libraries for Go, github.com/gomlx/go-huggingface is the one that is kept up; as of
// v0.3.1 it checks neither lengths nor checksums, begins again after a cut, fetches in one stream, takes no context, prints its
// progress to standard output, and keeps a branch at the commit at which it first saw it.
package hub
