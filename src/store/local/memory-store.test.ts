import { describeStoreContract } from "../store.contract.ts";
import { createMemoryStore } from "./memory-store.ts";

describeStoreContract("memory", { open: async () => createMemoryStore() });
