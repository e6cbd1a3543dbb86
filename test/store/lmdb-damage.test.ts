import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { bundle } from "../support/programs/bundle.ts";
import { damages } from "./lmdb-damage.ts";
import { fillSample } from "./lmdb-damage-sample.ts";

const folder = temporaryFolder();
const seeds = rounds(24);

test("a damaged data file is rejected or read correctly, and never causes wrong results or a crash", async () => {
  const store = await openLmdbStore({ directory: join(folder, "sound") });
  await fillSample(store);
  await store.close();

  const program = await bundle("test/store/lmdb-damage-reader.ts");
  const args = [program, join(folder, "sound/store.mdb"), join(folder, "damaged"), "0", `${seeds}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [stdout, [, signal]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const [sound, ...results] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^\w+:/, ""));

  const names = Object.keys(damages);
  const counts: Record<string, Record<string, number>> = {};
  const wrong: string[] = [];
  for (const [seed, result] of results.entries()) {
    const name = names[seed % names.length] ?? "";
    const outcome = result === sound ? "harmless" : (/^(corrupt|unrecognized)/.exec(result)?.[0] ?? "wrong");
    if (outcome === "wrong") wrong.push(`seed ${seed}, ${name}: ${result}`);
    counts[name] = { ...counts[name], [outcome]: (counts[name]?.[outcome] ?? 0) + 1 };
  }
  console.table(counts);
  expect({ wrong, signal, tried: results.length }).toEqual({ wrong: [], signal: null, tried: seeds });
}, 300_000);
