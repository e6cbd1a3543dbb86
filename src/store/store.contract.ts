import { afterEach, beforeEach, describe, test } from "vitest";
import { describeCompaction } from "./contract/compaction.ts";
import { describeReads } from "./contract/reads.ts";
import {
  bytes,
  expectCode,
  openStoreFixture,
  type StoreBackend,
  type StoreFixture,
  take,
} from "./contract/store-fixture.ts";
import { describeWatches } from "./contract/watches.ts";
import { describeWrites } from "./contract/writes.ts";

/** Test suite that every backend of the store must pass. */
export function describeStoreContract(name: string, backend: StoreBackend): void {
  describe(`store contract: ${name}`, () => {
    let fixture: StoreFixture;

    beforeEach(async () => {
      fixture = await openStoreFixture(backend);
    });
    afterEach(() => fixture.close());

    describeWrites(() => fixture);
    describeReads(() => fixture);
    describeWatches(() => fixture);
    describeCompaction(() => fixture);

    test("a closed store rejects all calls", async () => {
      const { store, watch } = fixture;
      await store.close();
      await expectCode("closed", () => store.get("/a"));
      await expectCode("closed", () => store.create("/a", bytes("1")));
      await expectCode("closed", () => store.list("/"));
      await expectCode("closed", () => take(watch("/", { fromRevision: 2 }), 1));
      await expectCode("closed", () => store.currentRevision());
    });
  });
}
