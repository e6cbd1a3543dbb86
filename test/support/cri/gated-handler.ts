import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quoteShell } from "../../../src/lib/process/run-program.ts";
import { identify, isAlive, type ProcessIdentity } from "../../../src/runtime/drivers/linux/process-info.ts";
import { toolPath } from "../programs/tools.ts";

/** An OCI runtime for a RuntimeClass: a script in front of runc that a test makes slow or failing for sandboxes. */
export interface GatedHandler {
  readonly path: string;
  /** From now on, creating a sandbox waits until `open`. */
  hold(): void;
  /** From now on, starting a container waits until `open`. */
  holdStart(): void;
  /** From now on, creating a sandbox fails with these words. */
  fail(message: string): void;
  stopFailing(): void;
  /** Lets the waiting calls go on, and later ones pass. */
  open(): void;
  /** The script's processes that have begun to create a sandbox or waited in `start`, oldest first. */
  attempts(): readonly ProcessIdentity[];
  /** Those that still run. */
  waiting(): readonly ProcessIdentity[];
  remove(): void;
}

export function makeGatedHandler(): GatedHandler {
  const directory = mkdtempSync(join(tmpdir(), "kindling-handler-"));
  const path = join(directory, "gated-runtime");
  const file = (name: string) => join(directory, name);
  const clear = (...names: readonly string[]) => {
    for (const name of names) rmSync(file(name), { force: true });
  };
  writeFileSync(path, script(directory, toolPath("runc")), { mode: 0o755 });
  writeFileSync(file("attempts"), "");
  const attempts = () =>
    readFileSync(file("attempts"), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line): ProcessIdentity => {
        const [pid = 0, startTicks = 0] = line.split(" ").map(Number);
        return { pid, startTicks, bootId: identify(process.pid)?.bootId ?? "" };
      });
  return {
    path,
    hold: () => writeFileSync(file("held-create"), ""),
    holdStart: () => writeFileSync(file("held-start"), ""),
    fail: (message) => writeFileSync(file("failure"), `${message}\n`),
    stopFailing: () => clear("failure"),
    open: () => clear("failure", "held-create", "held-start"),
    attempts,
    waiting: () => attempts().filter(isAlive),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Only the sandbox's own container is annotated as one: the others pass. */
const script = (directory: string, runc: string) => `#!/bin/sh
state=${quoteShell(directory)}
call= bundle= previous=
for word; do
  case $word in
    create | start) call=$word ;;
  esac
  [ "$previous" != --bundle ] || bundle=$word
  previous=$word
done
note() { echo "$$ $(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)" >> "$state/attempts"; }
sandbox='"io.kubernetes.cri.container-type":"sandbox"'
if [ "$call" = create ] && grep -q "$sandbox" "$bundle/config.json"; then
  note
  if [ -e "$state/failure" ]; then cat "$state/failure" >&2; exit 1; fi
  while [ -e "$state/held-create" ]; do sleep 0.05; done
elif [ "$call" = start ] && [ -e "$state/held-start" ]; then
  note
  while [ -e "$state/held-start" ]; do sleep 0.05; done
fi
exec ${quoteShell(runc)} "$@"
`;
