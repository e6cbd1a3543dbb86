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
import { runProgram } from "../../../lib/process/run-program.ts";
import { DriverError } from "../driver.ts";
import { findProgram } from "../find-program.ts";

/**
 * Copies the tools for containers and returns their directory. Once the root has changed, the host's programs are out
 * of reach, and images need not have any. So they are copied once, with their loader and libraries, into a directory
 * that every container sees read-only. An older one stays while containers exist, because they use it.
 */
export async function openTools(stateDir: string, { inUse }: { inUse: boolean }): Promise<string> {
  const name = `carried-tools-${versionOf([...carriedPrograms.map(pathOf), "/etc/ld.so.cache"])}`;
  const dir = join(stateDir, name);
  if (!existsSync(dir)) await prepareTools(dir);
  const older = (await readdir(stateDir)).filter((other) => /^carried-tools/.test(other) && other !== name);
  if (!inUse) for (const other of older) await rm(join(stateDir, other), { recursive: true, force: true });
  return dir;
}

/** Version of the tools: changes with the machine's programs and libraries, and with the patches applied to them. */
export function versionOf(files: readonly string[]): string {
  const facts = files.map((path) => {
    const { size, mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
    return [path, size, mtimeMs];
  });
  return createHash("sha256")
    .update(JSON.stringify([facts, replacements]))
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
        // Before glibc 2.34 a separate library, loaded by name, read /etc/passwd.
        const names = "libnss_files.so.2";
        if (target === "libc.so.6")
          await carry(join(dirname(library), names), join(making, names)).catch(() => {});
      }
    }
    await writeFile(join(making, basename(nameServiceFile)), "passwd: files\ngroup: files\n");
  });
}

/** Copies a program without set-user-id, patched so that it reads no files of the image. */
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

/** Creates the content of every container's /dev once, to be copied in one step. */
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

/** Replaces a directory atomically. */
async function replaceDir(dir: string, fill: (making: string) => Promise<void>): Promise<void> {
  const making = `${dir}.${process.pid}`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true, mode: 0o755 });
  await fill(making);
  await rm(dir, { recursive: true, force: true });
  await rename(making, dir);
}

/** Absolute paths in the output of `ldd`. */
export function parseLdd(text: string): string[] {
  return text.split("\n").flatMap((line) => /(?:=>\s*|^\s*)(\/\S+)\s+\(0x/.exec(line)?.[1] ?? []);
}

/** Command line of a copied program inside the container. */
export function insideTool(name: string): string[] {
  return [`${toolsInside}/ld.so`, "--library-path", toolsInside, `${toolsInside}/${name}`];
}

/** Programs that run after the root has changed, with the host's libraries. */
const carriedPrograms = ["setpriv", "env", "mount", "umount", "rmdir"] as const;

/** Programs that the driver and its scripts run on the host, by Debian package. */
const packages: Readonly<Record<string, readonly string[]>> = {
  "util-linux": ["unshare", "nsenter", "pivot_root", "prlimit", "setpriv"],
  mount: ["mount", "umount", "findmnt"],
  bsdutils: ["script"],
  coreutils: [
    ...["cat", "chown", "cp", "dd", "env", "mkdir", "mkfifo", "mknod", "mv", "readlink", "rm", "rmdir"],
    ...["sleep", "stty", "tty"],
  ],
  dash: ["sh"],
  grep: ["grep"],
  "libc-bin": ["ldd"],
};

/** Checks the programs at each start: without one of them every container would fail, each with another error. */
export function checkPrograms(find: (name: string) => string | undefined = findProgram): void {
  const missing = Object.entries(packages).flatMap(([from, names]) =>
    names.filter((name) => !find(name)).map((name) => ({ name, from })),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(", ");
  const wanted = [...new Set(missing.map(({ from }) => from))].join(" ");
  throw new DriverError(
    "unsupported",
    `the host driver needs ${names}, not installed here: apt-get install ${wanted}, or your system's packages that have ${missing.length === 1 ? "it" : "them"}`,
  );
}

/** Directory in a container of the host driver with the programs that drop its privileges. */
export const toolsInside = "/dev/.kindling";

/** File inside the container that restricts name lookups to files. */
const nameServiceFile = `${toolsInside}/nss`;

/**
 * Paths that the loader and the C library read before a program runs, and their replacements. Inside a container the
 * originals are the image's files, but the copied programs have all of root's capabilities until the last one has
 * dropped them: a library named in one of the files would have them too. The replacements have the same length or less;
 * compilers store the end of the socket's name elsewhere.
 */
const replacements = {
  "/etc/ld.so.preload": `${toolsInside}/no-`,
  "/etc/ld.so.cache": `${toolsInside}/c`,
  "/etc/nsswitch.conf": nameServiceFile,
  "/var/run/nscd/so": `${toolsInside}/n`,
  // Nothing exists below a device: users are not found by name, and IDs are used as numbers.
  "/etc/passwd": "/dev/zero/x",
  "/etc/group": "/dev/zero/",
};

/** Returns the program or library with those paths replaced; undefined if it contains none. */
export function sealProgram(bytes: Buffer): Buffer | undefined {
  const sealed = Buffer.from(bytes);
  for (const [path, own] of Object.entries(replacements)) {
    for (let at = sealed.indexOf(path); at !== -1; at = sealed.indexOf(path, at)) sealed.write(own, at);
  }
  return sealed.equals(bytes) ? undefined : sealed;
}
