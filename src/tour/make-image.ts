import { execFile } from "node:child_process";
import { constants, copyFile, mkdir, readdir, realpath, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { writeLayout } from "../runtime/image/build-image.ts";
import { programs, serverPath } from "./tour-image.ts";

const run = promisify(execFile);

/**
 * An OCI layout of the Node that runs this: its binary, the libraries that it has loaded, and the tour's programs.
 * Every file keeps its path, for the binary and the loader look for them there. Answers with Node's.
 */
export async function makeNodeImage(
  directory: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<{ readonly layout: string; readonly node: string; readonly bytes: number }> {
  const tree = join(directory, "tree");
  const layout = join(directory, "layout");
  const node = await realpath(process.execPath);
  const libraries = await loadedLibraries(node, signal);
  await mkdir(join(tree, "tmp"), { recursive: true, mode: 0o1777 });
  for (const file of [node, ...libraries]) {
    signal.throwIfAborted();
    const copy = join(tree, file);
    await mkdir(dirname(copy), { recursive: true });
    // Without writing it twice where the file system can share.
    await copyFile(file, copy, constants.COPYFILE_FICLONE);
  }
  for (const [path, text] of Object.entries(programs)) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), text);
  }
  const folders = [...new Set(libraries.map((library) => dirname(library)))];
  await writeLayout(layout, {
    directory: tree,
    tag: "tour",
    entrypoint: [node],
    command: [serverPath],
    // Where a library is somewhere that the loader does not look by itself.
    env: [
      "PATH=/usr/local/bin:/usr/bin:/bin",
      ...(folders.length > 0 ? [`LD_LIBRARY_PATH=${folders.join(":")}`] : []),
    ],
    signal,
  });
  await rm(tree, { recursive: true });
  return { layout, node, bytes: await bytesIn(join(layout, "blobs/sha256")) };
}

async function bytesIn(directory: string): Promise<number> {
  const files = (await readdir(directory)).map((name) => stat(join(directory, name)));
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0);
}

/** A fresh Node tells: this process may have loaded more, such as native addons. */
async function loadedLibraries(node: string, signal: AbortSignal): Promise<readonly string[]> {
  const program = "console.log(JSON.stringify(process.report.getReport().sharedObjects))";
  const { stdout } = await run(node, ["-e", program], { signal, env: {} });
  const paths: unknown = JSON.parse(stdout);
  if (!Array.isArray(paths)) throw new Error("Node does not tell which libraries it needs");
  const files = paths.filter((path): path is string => typeof path === "string" && path.startsWith("/"));
  const kinds = await Promise.all(
    files.map((path) =>
      stat(path).then(
        (found) => found.isFile(),
        () => false,
      ),
    ),
  );
  // The kernel's own (linux-vdso) is not a file; the binary itself is listed too.
  return files.filter((path, i) => kinds[i] && path !== node);
}
