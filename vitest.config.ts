import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongFilesFirst } from "./test/support/long-files-first.ts";

export default defineConfig({
  test: {
    // Unit tests live beside the code; test/ holds what crosses layers, with real servers on real sockets.
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,dashboard}/**/*.test.ts"],
          // They leave nothing behind, and most of a file's time would go into a process of its own.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        test: {
          name: "integration",
          include: ["{test,examples}/**/*.test.ts"],
          // Examples import the package as its users do.
          alias: { kindling: fileURLToPath(new URL("src/testing/start-cluster.ts", import.meta.url)) },
          globalSetup: "test/support/global-setup.ts",
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // What is waited for comes; on a busy machine it takes longer than vitest's second.
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
    // For two cores: tests with real servers mostly wait. More workers would make those servers miss their deadlines.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
    reporters: process.env.CI ? ["default", "./scripts/count-reporter.mjs"] : ["default"],
  },
});
