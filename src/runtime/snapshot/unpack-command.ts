import { access, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * A layer is hostile input handled by root. The code that unpacks it checks every path (layer-tree.ts); in case it
 * errs, the kernel confines it: a root of its own in which, beside the system's programs and the blobs, read-only,
 * there is only the staging directory. Nothing else of the machine can be named from in there. The namespaces also
 * take mounts with them when the process dies, however it dies.
 *
 * Where the machine does not allow this the process runs without, and says so; its own checks hold there too.
 */
const jail = `
jail=$1 node=$2 program=$3 content=$4 staging=$5
# Wherever the programs were found out here: in there they are only where every system has them.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
enter() {
  mount -t tmpfs -o mode=755 jail "$jail" || return 1
  mkdir -p "$jail/proc" "$jail/dev" "$jail/etc" "$jail/tmp" "$jail/old" || return 1
  for path in /usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix /gnu; do
    if [ -L "$path" ]; then cp -P "$path" "$jail$path" || return 1
    elif [ -d "$path" ]; then mkdir -p "$jail$path" && mount -o bind,ro "$path" "$jail$path" || return 1
    fi
  done
  for file in /dev/null /etc/ld.so.cache "$node"; do
    [ -e "$file" ] && [ ! -e "$jail$file" ] || continue
    mkdir -p "$jail$(dirname "$file")" && : > "$jail$file" && mount -o bind,ro "$file" "$jail$file" || return 1
  done
  for path in "$program" "$content"; do
    [ -d "$jail$path" ] && continue
    mkdir -p "$jail$path" && mount -o bind,ro "$path" "$jail$path" || return 1
  done
  mkdir -p "$jail$staging" && mount --bind "$staging" "$jail$staging" || return 1
  mount -t proc proc "$jail/proc" || return 1
  cd "$jail" && pivot_root . old && cd / && umount -l /old && mount -o remount,ro /
}
if enter; then export KINDLING_JAILED=yes; fi
shift 5
exec "$node" "$@"
`;

/**
 * Memory is saved where it buys nothing. V8 lets buffers of twice the young generation's size pile up in each thread before
 * it looks for those that nobody needs; here each is used once. And the work is inflating, hashing and the kernel's: an
 * optimizing compiler takes 25 MB to make the little JavaScript in between faster. See also free-used-buffers.ts.
 */
const frugal = ["--max-semi-space-size=1", "--no-opt", "--expose-gc"];

export interface UnpackCommand {
  readonly argv: readonly string[];
}

export async function unpackCommand(options: { dataDir: string; program?: string }): Promise<UnpackCommand> {
  const program = options.program ?? (await findProgram());
  const root = join(options.dataDir, "jail");
  await mkdir(root, { recursive: true, mode: 0o700 });
  const [content, staging] = [join(options.dataDir, "content"), join(options.dataDir, "staging")];
  const namespaces = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];
  const script = [
    "sh",
    "-c",
    jail,
    "sh",
    root,
    process.execPath,
    dirname(program),
    content,
    staging,
    ...frugal,
    program,
  ];
  return {
    argv:
      process.getuid?.() === 0
        ? ["unshare", ...namespaces, ...script]
        : [process.execPath, ...frugal, program],
  };
}

/** The bundle puts the command's parts in one folder and what they share in another below. */
async function findProgram(): Promise<string> {
  const candidates = ["./unpack-process.js", "../unpack-process.js"].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  for (const candidate of candidates) {
    const found = await access(candidate).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  throw new Error(
    `unpack-process.js is not beside the command (looked for ${candidates.join(", ")}); run npm run build`,
  );
}
