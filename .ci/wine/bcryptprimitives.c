// A bcryptprimitives.dll for wine 8, which has none. Every Go program loads this library, so it also makes wine answer as Windows does
// where wine 8 answers what Windows never does. .ci/windows compiles it.
#include <string.h>
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size); // RtlGenRandom of advapi32

// ProcessPrng is all that Go takes of this library.
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
	for (SIZE_T n; size > 0; data += n, size -= n) {
		n = size < 1 << 20 ? size : 1 << 20;
		if (!SystemFunction036(data, n)) return FALSE;
	}
	return TRUE;
}

static LONG(NTAPI *original)(HANDLE, PVOID, PVOID, ULONG, ULONG);

// For a class of information that it does not know, wine says "not implemented" and an old Windows "invalid class". After the second
// answer Go deletes a file in an older way; after the first one it gives up.
static LONG NTAPI setInformation(HANDLE file, PVOID status, PVOID data, ULONG size, ULONG class) {
	LONG answer = original(file, status, data, size, class);
	return answer == (LONG)0xc0000002 ? (LONG)0xc0000003 : answer;
}

// Wine makes no symbolic link and says that it did. Windows refuses them to users without the privilege.
static BOOLEAN WINAPI createSymbolicLink(LPCWSTR link, LPCWSTR target, DWORD flags) {
	SetLastError(ERROR_PRIVILEGE_NOT_HELD);
	return FALSE;
}

// code makes the code of a function writable, and returns it.
static BYTE *code(const char *library, const char *name) {
	BYTE *at = (BYTE *)GetProcAddress(GetModuleHandleA(library), name);
	DWORD old;
	return at && VirtualProtect(at, 32, PAGE_EXECUTE_READWRITE, &old) ? at : NULL;
}

// divert lets a function begin with a jump to another one.
static void divert(BYTE *at, void *to) {
	BYTE jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; // mov $to, %rax; jmp *%rax
	memcpy(jump + 2, &to, sizeof to);
	memcpy(at, jump, sizeof jump);
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved) {
	if (reason != DLL_PROCESS_ATTACH) return TRUE;
	BYTE *set = code("ntdll.dll", "NtSetInformationFile"), *link = code("kernel32.dll", "CreateSymbolicLinkW");
	BYTE *copy = VirtualAlloc(NULL, 32, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
	if (!set || !link || !copy) return FALSE;
	original = memcpy(copy, set, 32); // a system call of wine's is 32 bytes, which may lie anywhere
	divert(set, setInformation);
	divert(link, createSymbolicLink);
	return TRUE;
}
