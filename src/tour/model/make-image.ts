import { execFile } from "node:child_process";
import { constants, copyFile, mkdir, readdir, realpath, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { writeLayout } from "../../runtime/images/build-image.ts";

const run = promisify(execFile);

/**
 * Creates an OCI layout with the running Node.js: its binary, its shared libraries and the tour's programs. Every file
 * keeps its path, because the binary and the dynamic loader expect them there. Returns the path of the binary.
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
    // Shares the data blocks if the file system supports it.
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
    // For libraries outside of the loader's default paths.
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

/** Libraries of a new Node.js process: this one may have loaded more, such as native addons. */
async function loadedLibraries(node: string, signal: AbortSignal): Promise<readonly string[]> {
  const program = "console.log(JSON.stringify(process.report.getReport().sharedObjects))";
  const { stdout } = await run(node, ["-e", program], { signal, env: {} });
  const paths: unknown = JSON.parse(stdout);
  if (!Array.isArray(paths)) throw new Error("the report of Node.js does not list its shared libraries");
  const files = paths.filter((path): path is string => typeof path === "string" && path.startsWith("/"));
  const kinds = await Promise.all(
    files.map((path) =>
      stat(path).then(
        (found) => found.isFile(),
        () => false,
      ),
    ),
  );
  // linux-vdso is not a file, and the binary itself is listed too.
  return files.filter((path, i) => kinds[i] && path !== node);
}

/** Image that the tour's pods run: Node.js with two small programs. */
export interface TourImage {
  readonly reference: string;
  readonly bytes: number;
  /** Rate of the registry, slow enough to watch a pull. */
  readonly bytesPerSecond: number;
  /** Path of Node.js in the image. */
  readonly node: string;
  /** Whether pods are simulated: annotations describe the behaviour of containers. */
  readonly simulated: boolean;
}

/** Server that has started after START_SECONDS and exits on SIGTERM. */
const serverPath = "/app/server.js";
/** Probe command that exits with code 0 once the server has started. */
const startedPath = "/app/started.js";

const programs: Readonly<Record<string, string>> = {
  [serverPath]: `const { writeFileSync } = require("node:fs");
const seconds = Number(process.env.START_SECONDS ?? 0);
process.on("SIGTERM", () => process.exit(0));
console.log(process.env.GREETING ?? "hello", "- up in", seconds, "s");
setTimeout(() => writeFileSync("/tmp/started", ""), 1000 * seconds);
setInterval(() => {}, 1 << 30);
`,
  [startedPath]: `process.exit(require("node:fs").existsSync("/tmp/started") ? 0 : 1);
`,
};

interface TourPod {
  readonly name: string;
  readonly container?: Partial<Container>;
  /** Behaviour on a simulated node, by annotation name. */
  readonly simulated?: Readonly<Record<string, string>>;
}

/** Pod with one container that runs the tour's image. */
export function tourPod(image: TourImage, { name, container, simulated = {} }: TourPod): Pod {
  const annotations = image.simulated ? simulatedAnnotations(simulated) : {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", annotations },
    spec: tourPodSpec(image, container),
  };
}

export function tourPodSpec(image: TourImage, container: Partial<Container> = {}): NonNullable<Pod["spec"]> {
  return {
    terminationGracePeriodSeconds: 2,
    // Cluster DNS is not needed, and this avoids events about it.
    dnsPolicy: "Default",
    containers: [{ name: "app", image: image.reference, ...container }],
  };
}

function simulatedAnnotations(scripts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(scripts).map(([key, text]) => [`simulated.kindling.dev/${key}`, text]),
  );
}

/** Probe that checks whether the program has started. */
export function startedProbe(image: TourImage): { command: string[] } {
  return { command: [image.node, startedPath] };
}
