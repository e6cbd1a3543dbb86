import { invalidArgument } from "../errors/runtime-error.ts";

// Process of a sandbox's own container. In a pod that shares processes it has PID 1: it adopts orphans, and because
// SIGCHLD is ignored the kernel reaps them. It needs neither libc nor an image, so it is defined here as machine code:
// an ELF header, one program header, and
//   rt_sigaction(SIGCHLD, {SIG_IGN}, NULL, 8); for (;;) pause();

const loadAddress = 0x400000n;
const headerBytes = 64 + 56;

interface Machine {
  /** Value of e_machine. */
  readonly id: number;
  readonly code: Buffer;
}

/** struct sigaction with the handler SIG_IGN (1); the rest is zero. It follows the code of both programs. */
const ignoreAction = Buffer.alloc(32);
ignoreAction[0] = 1;

const x64 = Buffer.from([
  ...[0xbf, 17, 0, 0, 0], // mov edi, SIGCHLD
  ...[0x48, 0x8d, 0x35, 25, 0, 0, 0], // lea rsi, [rip+25]: the action
  ...[0x31, 0xd2], // xor edx, edx
  ...[0x41, 0xba, 8, 0, 0, 0], // mov r10d, 8
  ...[0xb8, 13, 0, 0, 0], // mov eax, rt_sigaction
  ...[0x0f, 0x05], // syscall
  ...[0xb8, 34, 0, 0, 0], // mov eax, pause
  ...[0x0f, 0x05], // syscall
  ...[0xeb, 0xf7], // jmp back to pause
  0x90, // nop: the action is 37 bytes in
]);

const arm64 = instructions([
  0xd2800220, // mov x0, #17: SIGCHLD
  0x10000181, // adr x1, the action, 48 bytes on
  0xd2800002, // mov x2, #0
  0xd2800103, // mov x3, #8
  0xd28010c8, // mov x8, #134: rt_sigaction
  0xd4000001, // svc #0
  0xd2800000, // mov x0, #0: ppoll of nothing without a limit is pause
  0xd2800001, // mov x1, #0
  0xd2800002, // mov x2, #0
  0xd2800003, // mov x3, #0
  0xd2800928, // mov x8, #73: ppoll
  0xd4000001, // svc #0
  0x17fffffa, // b back to mov x0, #0
]);

const machines: Readonly<Record<string, Machine>> = {
  x64: { id: 62, code: x64 },
  arm64: { id: 183, code: arm64 },
};

/** Executable file for an architecture as in `process.arch`. */
export function pauseProgram(arch: string): Buffer {
  const machine = machines[arch];
  if (!machine)
    throw invalidArgument(
      `there is no pause program for ${arch}: pods cannot share processes or use a runtime handler`,
    );
  const body = Buffer.concat([machine.code, ignoreAction]);
  const size = BigInt(headerBytes + body.length);

  const header = Buffer.alloc(headerBytes);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]); // ELF, 64 bits, little-endian, version 1
  header.writeUInt16LE(2, 16); // an executable
  header.writeUInt16LE(machine.id, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(loadAddress + BigInt(headerBytes), 24); // where it begins to run
  header.writeBigUInt64LE(64n, 32); // the program header follows the file header
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);

  header.writeUInt32LE(1, 64); // load it
  header.writeUInt32LE(5, 68); // to read and execute
  header.writeBigUInt64LE(loadAddress, 80);
  header.writeBigUInt64LE(loadAddress, 88);
  header.writeBigUInt64LE(size, 96);
  header.writeBigUInt64LE(size, 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([header, body]);
}

function instructions(words: readonly number[]): Buffer {
  const code = Buffer.alloc(4 * words.length);
  for (const [i, word] of words.entries()) code.writeUInt32LE(word, 4 * i);
  return code;
}
