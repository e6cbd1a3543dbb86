import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb-store.ts";
import { bundle } from "../support/bundle.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { damages } from "./lmdb-damage.ts";
import { fillSample } from "./lmdb-damage-sample.ts";

const folder = temporaryFolder();

/** KINDLING_DAMAGES asks for more of them than a test run has time for. */
const seeds = Number(process.env.KINDLING_DAMAGES ?? 200);

test("a damaged data file is refused, or answers as if it were sound; it never answers wrong and never crashes", async () => {
  const store = await openLmdbStore({ directory: join(folder, "sound") });
  await fillSample(store);
  await store.close();

  const program = await bundle("test/store/lmdb-damage-reader.ts");
  const outcomes = new Map<string, Record<string, number>>();
  const wrong: string[] = [];
  let seed = 0;
  while (seed < seeds) {
    const args = [program, join(folder, "sound/store.mdb"), join(folder, "damaged"), `${seed}`, `${seeds}`];
    const { stdout, signal, status } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      timeout: 100_000,
    });
    const [first, ...lines] = stdout.split("\n");
    const sound = first?.replace("sound:", "");
    for (const line of lines) {
      if (line === "") continue;
      const [label = "", result = ""] = line.split(/:(.*)/);
      const name = Object.keys(damages)[Number(label) % Object.keys(damages).length] ?? "";
      const outcome = result === sound ? "harmless" : /^(corrupt|foreign)/.exec(result)?.[0];
      if (!outcome) wrong.push(`seed ${label}, ${name}: ${result || `ended by ${signal ?? status}`}`);
      const counts = outcomes.get(name) ?? {};
      counts[outcome ?? "WRONG"] = (counts[outcome ?? "WRONG"] ?? 0) + 1;
      outcomes.set(name, counts);
      seed = Number(label) + 1;
    }
  }
  console.table(Object.fromEntries(outcomes));
  expect(wrong).toEqual([]);
});
