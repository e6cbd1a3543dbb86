import { mkdir, open, readFile, realpath, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { type Document, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from "yaml";
import type { Clock } from "../../lib/clock.ts";
import { writeFileDurably } from "../../lib/fs/write-file-atomic.ts";
import { messageOf } from "../../lib/message-of.ts";

/** Entries of a Kindling cluster in the user's kubeconfig. */
interface OwnEntry {
  /** Absolute path of the data directory, which identifies the owner of the entries. */
  readonly dataDir: string;
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
  /** Makes the context current even if another one is. */
  readonly makeCurrent: boolean;
}

export interface Merged {
  readonly text: string;
  /** Name of the context: `kindling`, or with a number when that name is taken. */
  readonly context: string;
  readonly current: boolean;
}

const wantedName = "kindling";
/** Extension that identifies our entries; kubectl keeps unknown extensions. */
const extensionName = "kindling";
const lists = ["clusters", "users", "contexts"] as const;

/** Adds a cluster to the text of a kubeconfig ("" for a new one), keeping all other content and comments. */
export function mergeKubeconfig(text: string, own: OwnEntry): Merged {
  const document = parse(text);
  const before = ownName(document, own.dataDir);
  const name = before ?? freeName(document);
  const current = currentContext(document);
  const becomes = own.makeCurrent || current === "" || current === name;
  const previousContext = becomes && current !== name ? current : previousContextOf(document, own.dataDir);
  const extensions = [
    {
      name: extensionName,
      extension: { dataDir: own.dataDir, ...(previousContext && { previousContext }) },
    },
  ];
  put(document, "clusters", { name, cluster: { ...own.cluster, extensions } });
  put(document, "users", { name, user: own.user });
  put(document, "contexts", { name, context: { cluster: name, user: name } });
  if (becomes) document.set("current-context", name);
  return { text: print(document), context: name, current: becomes };
}

/** Removes the cluster's entries. Returns undefined when there are none. */
export function unmergeKubeconfig(text: string, dataDir: string): string | undefined {
  const document = parse(text);
  const name = ownName(document, dataDir);
  if (name === undefined) return undefined;
  const previous = previousContextOf(document, dataDir);
  for (const list of lists) {
    const entries = listOf(document, list);
    const index = entries ? indexOf(entries, name) : -1;
    if (index >= 0) entries?.delete(index);
  }
  if (currentContext(document) === name) {
    const contexts = listOf(document, "contexts");
    const stillThere = previous && contexts && indexOf(contexts, previous) >= 0;
    document.set("current-context", stillThere ? previous : "");
  }
  return print(document);
}

function parse(text: string): Document<YAMLMap> {
  const document = parseDocument(text.trim() === "" ? "apiVersion: v1\nkind: Config\n" : text);
  const [problem] = document.errors;
  if (problem) throw new Error(`it is not valid YAML: ${problem.message}`);
  if (!isMap(document.contents)) throw new Error("it must be a mapping with clusters, users and contexts");
  for (const list of lists) {
    const entries: unknown = document.get(list);
    if (entries !== undefined && entries !== null && !isSeq(entries))
      throw new Error(`${list} must be a list`);
  }
  return document as Document<YAMLMap>;
}

/** Disables line folding, which would split base64 data. */
function print(document: Document): string {
  return document.toString({ lineWidth: 0 });
}

function listOf(document: Document, list: (typeof lists)[number]): YAMLSeq | undefined {
  const entries: unknown = document.get(list);
  return isSeq(entries) ? entries : undefined;
}

function indexOf(entries: YAMLSeq, name: string): number {
  return entries.items.findIndex((entry) => isMap(entry) && entry.get("name") === name);
}

function put(
  document: Document,
  list: (typeof lists)[number],
  entry: Readonly<Record<string, unknown>> & { readonly name: string },
): void {
  const entries = listOf(document, list);
  if (!entries) {
    document.set(list, document.createNode([entry]));
    return;
  }
  const index = indexOf(entries, entry.name);
  const node = document.createNode(entry);
  if (index >= 0) entries.set(index, node);
  else entries.add(node);
  // kubectl writes an empty list as [], whose flow style would put everything on one line.
  if (entries.items.length === 1) entries.flow = false;
}

function currentContext(document: Document): string {
  const current: unknown = document.get("current-context");
  return typeof current === "string" ? current : "";
}

function ownExtension(entry: unknown): YAMLMap | undefined {
  const extensions = isMap(entry) ? entry.getIn(["cluster", "extensions"]) : undefined;
  if (!isSeq(extensions)) return undefined;
  const found = extensions.items.find((item) => isMap(item) && item.get("name") === extensionName);
  const extension = isMap(found) ? found.get("extension") : undefined;
  return isMap(extension) ? extension : undefined;
}

function ownCluster(document: Document, dataDir: string): YAMLMap | undefined {
  const found = listOf(document, "clusters")?.items.find(
    (entry) => ownExtension(entry)?.get("dataDir") === dataDir,
  );
  return isMap(found) ? found : undefined;
}

function ownName(document: Document, dataDir: string): string | undefined {
  const name = ownCluster(document, dataDir)?.get("name");
  return typeof name === "string" ? name : undefined;
}

function previousContextOf(document: Document, dataDir: string): string | undefined {
  const previous = ownExtension(ownCluster(document, dataDir))?.get("previousContext");
  return typeof previous === "string" ? previous : undefined;
}

function freeName(document: Document): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wantedName : `${wantedName}-${number}`;
    const taken = lists.some((list) => {
      const entries = listOf(document, list);
      return entries !== undefined && indexOf(entries, name) >= 0;
    });
    if (!taken) return name;
  }
}

/** The user's kubeconfig: the first file of $KUBECONFIG, else ~/.kube/config. */
export function usersKubeconfig(variable: string | undefined): string {
  const [first] = (variable ?? "").split(delimiter).filter(Boolean);
  return first ?? join(homedir(), ".kube", "config");
}

/** Sanity limit for the size of a kubeconfig. */
const maxBytes = 16 * 1_024 * 1_024;
const lockAttempts = 20;
const lockRetryMs = 100;

/**
 * Edits a kubeconfig atomically, under the same lock as kubectl. `change` receives "" for a missing file and returns
 * undefined to keep the file. A failure leaves the file unchanged.
 */
export async function editKubeconfig(
  file: string,
  { clock, change }: { readonly clock: Clock; change(text: string): string | undefined },
): Promise<void> {
  try {
    // Replaces the target of a symbolic link, not the link.
    const path = await realpath(file).catch(() => file);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const unlock = await lock(path, clock);
    try {
      await editLocked(path, change);
    } finally {
      await unlock();
    }
  } catch (error) {
    throw new Error(`the kubeconfig ${file} was not changed: ${messageOf(error)}`, { cause: error });
  }
}

async function editLocked(path: string, change: (text: string) => string | undefined): Promise<void> {
  const existing = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (existing && !existing.isFile()) throw new Error("it is not a file");
  if (existing && existing.size > maxBytes) throw new Error("it is too large to be a kubeconfig");
  const text = existing ? await readFile(path, "utf8") : "";
  const changed = change(text);
  if (changed === undefined || changed === text) return;
  await writeFileDurably(path, changed, {
    // The file will contain private keys: group and others lose access.
    mode: existing ? existing.mode & 0o700 : 0o600,
    // With sudo the file keeps its owner.
    owner: existing,
    existing: "replace",
  });
}

async function lock(path: string, clock: Clock): Promise<() => Promise<void>> {
  const lockFile = `${path}.lock`;
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lockFile, "wx", 0o600)).close();
      return () => rm(lockFile, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (attempt === lockAttempts)
        throw new Error(`another process is changing it; if there is none, remove ${lockFile}`);
      await clock.sleep(lockRetryMs);
    }
  }
}
