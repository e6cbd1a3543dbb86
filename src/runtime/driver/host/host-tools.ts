import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runProgram } from "../../process/run-program.ts";
import { findProgram } from "../find-program.ts";
import { carriedPrograms } from "./needed-programs.ts";
import { instead, nameServiceFile, sealProgram, toolsInside } from "./seal-program.ts";

/**
 * Once the root has changed the host's programs are out of reach, and images need not have any. So they are copied
 * once, with the loader and the libraries they need, into a directory that every container sees read-only. Answers with
 * the directory. An older one stays as long as there are containers: they enter by it.
 */
export async function openTools(stateDir: string, { inUse }: { inUse: boolean }): Promise<string> {
  const name = `carried-tools-${versionOf([...carriedPrograms.map(pathOf), "/etc/ld.so.cache"])}`;
  const dir = join(stateDir, name);
  if (!existsSync(dir)) await prepareTools(dir);
  const older = (await readdir(stateDir)).filter((other) => /^carried-tools/.test(other) && other !== name);
  if (!inUse) for (const other of older) await rm(join(stateDir, other), { recursive: true, force: true });
  return dir;
}

/** Another one when the machine's programs or libraries are, or what is done with them here. */
export function versionOf(files: readonly string[]): string {
  const facts = files.map((path) => {
    const { size, mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
    return [path, size, mtimeMs];
  });
  return createHash("sha256")
    .update(JSON.stringify([facts, instead]))
    .digest("hex")
    .slice(0, 12);
}

function pathOf(program: string): string {
  return findProgram(program) ?? program;
}

async function prepareTools(dir: string): Promise<void> {
  await replaceDir(dir, async (making) => {
    for (const name of carriedPrograms) {
      const path = pathOf(name);
      await carry(path, join(making, name));
      for (const library of parseLdd(await runProgram("ldd", [path]))) {
        const target = /^ld-|^ld\d*\.so/.test(basename(library)) ? "ld.so" : basename(library);
        await carry(library, join(making, target));
        // Before glibc 2.34, what reads /etc/passwd was a library of its own, loaded by name.
        const names = "libnss_files.so.2";
        if (target === "libc.so.6")
          await carry(join(dirname(library), names), join(making, names)).catch(() => {});
      }
    }
    await writeFile(join(making, basename(nameServiceFile)), "passwd: files\ngroup: files\n");
  });
}

/** A copy that looks nothing up among the image's files, and is nobody's way to become root. */
async function carry(from: string, to: string): Promise<void> {
  await copyFile(await realpath(from), to);
  await chmod(to, 0o755);
  const sealed = sealProgram(await readFile(to));
  if (sealed) await writeFile(to, sealed);
}

const devices = ["null 1 3", "zero 1 5", "full 1 7", "random 1 8", "urandom 1 9", "tty 5 0"];
const deviceLinks = {
  ptmx: "pts/ptmx",
  fd: "/proc/self/fd",
  stdin: "/proc/self/fd/0",
  stdout: "/proc/self/fd/1",
  stderr: "/proc/self/fd/2",
};

/** Makes what every container has in /dev, once: it is copied in one step then. */
export async function prepareDev(dir: string): Promise<void> {
  await replaceDir(dir, async (making) => {
    for (const device of devices) {
      const [name = "", major = "", minor = ""] = device.split(" ");
      await runProgram("mknod", ["-m", "666", join(making, name), "c", major, minor]);
    }
    for (const [name, target] of Object.entries(deviceLinks)) await symlink(target, join(making, name));
    for (const name of ["pts", "shm", "mqueue", ".kindling", ".old-root"]) await mkdir(join(making, name));
  });
}

/** Whoever finds the directory finds all of it. */
async function replaceDir(dir: string, fill: (making: string) => Promise<void>): Promise<void> {
  const making = `${dir}.${process.pid}`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true, mode: 0o755 });
  await fill(making);
  await rm(dir, { recursive: true, force: true });
  await rename(making, dir);
}

/** The absolute paths in what `ldd` says. */
export function parseLdd(text: string): string[] {
  return text.split("\n").flatMap((line) => /(?:=>\s*|^\s*)(\/\S+)\s+\(0x/.exec(line)?.[1] ?? []);
}

/** The words that run a carried program inside. */
export function insideTool(name: string): string[] {
  return [`${toolsInside}/ld.so`, "--library-path", toolsInside, `${toolsInside}/${name}`];
}
