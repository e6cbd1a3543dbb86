import { afterEach, beforeEach, describe, test } from "vitest";
import { describeReads, describeWrites } from "./contract/reads-and-writes.ts";
import {
  bytes,
  expectCode,
  openStoreFixture,
  type StoreBackend,
  type StoreFixture,
  take,
} from "./contract/store-fixture.ts";
import { describeCompaction, describeWatches } from "./contract/watches-and-compaction.ts";

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
