/* The one function of bcryptprimitives.dll that programs built with Go import, for Wine 8, which
   lacks this library. scripts/setup-wine compiles it. SystemFunction036 is RtlGenRandom. */
#include <windows.h>

BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
	return SystemFunction036(buffer, (ULONG)length);
}

BOOL WINAPI DllMainCRTStartup(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
	(void)instance, (void)reason, (void)reserved;
	return TRUE;
}
