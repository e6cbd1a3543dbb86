import { createMemoryStore } from "./memory-store.ts";
import { describeStoreContract } from "./store.contract.ts";

describeStoreContract("memory", { open: async () => createMemoryStore() });
