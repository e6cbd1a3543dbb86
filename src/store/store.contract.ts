import { afterEach, beforeEach, describe, test } from "vitest";
import { describeCompaction } from "./contract/compaction.ts";
import { describeReads } from "./contract/reads.ts";
import {
  bytes,
  expectCode,
  openStoreBench,
  type StoreBackend,
  type StoreBench,
  take,
} from "./contract/store-bench.ts";
import { describeWatches } from "./contract/watches.ts";
import { describeWrites } from "./contract/writes.ts";

/** What every backend of the store promises, as tests. */
export function describeStoreContract(name: string, backend: StoreBackend): void {
  describe(`store contract: ${name}`, () => {
    let bench: StoreBench;

    beforeEach(async () => {
      bench = await openStoreBench(backend);
    });
    afterEach(() => bench.close());

    describeWrites(() => bench);
    describeReads(() => bench);
    describeWatches(() => bench);
    describeCompaction(() => bench);

    test("a closed store refuses everything", async () => {
      const { store, watch } = bench;
      await store.close();
      await expectCode("closed", () => store.get("/a"));
      await expectCode("closed", () => store.create("/a", bytes("1")));
      await expectCode("closed", () => store.list("/"));
      await expectCode("closed", () => take(watch("/", { fromRevision: 2 }), 1));
      await expectCode("closed", () => store.currentRevision());
    });
  });
}
