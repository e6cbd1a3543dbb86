import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLmdbStore } from "./lmdb-store.ts";
import { describeStoreContract } from "./store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "kindling-lmdb-"));
let stores = 0;

describeStoreContract("lmdb", {
  open: () => openLmdbStore({ directory: join(folder, `${stores++}`) }),
});
